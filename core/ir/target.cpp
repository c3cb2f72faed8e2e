#include "core/ir/target.h"

namespace lockstep {

Target host_target() {
  Target out;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  out.isa = avx512 ? Isa::kAvx512 : Isa::kAvx2;
  return out;
}

}  // namespace lockstep
