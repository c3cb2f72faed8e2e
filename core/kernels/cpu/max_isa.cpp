#include "core/kernels/max_isa.h"

#include "core/kernels/cpu/onednn.h"

namespace lockstep {

Target limited_target(MaxIsa max) {
  limit_onednn(max);
  Target out = host_target();
  if (max == MaxIsa::kAvx2) out.isa = Isa::kAvx2;
  return out;
}

}  // namespace lockstep
