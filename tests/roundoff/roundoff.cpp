#include "tests/roundoff/roundoff.h"

namespace lockstep {

double roundoff_of(DType dtype) {
  switch (dtype) {
    case DType::kF32: return 0x1p-24;
    case DType::kBF16: return 0x1p-8;
    case DType::kF16: return 0x1p-11;
    case DType::kF64: return 0x1p-53;
    case DType::kI32:
    case DType::kI64:
    case DType::kU8:
    case DType::kBool: return 0;
  }
  __builtin_unreachable();
}

double gamma(double n, double roundoff) {
  return n * roundoff / (1 - n * roundoff);
}

}  // namespace lockstep
