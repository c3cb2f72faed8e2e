#include "core/kernels/max_isa.h"

#include "core/kernels/cpu/onednn.h"

namespace lockstep {

Target limited_target(MaxIsa max) {
  limit_onednn(max);
  return host_target(max);
}

}  // namespace lockstep
