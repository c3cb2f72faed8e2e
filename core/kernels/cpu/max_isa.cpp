#include "core/kernels/max_isa.h"

#include "core/kernels/cpu/onednn.h"

namespace lockstep {

void limit_kernels(const Target& target, MaxIsa max) {
  const Target host = host_target(max);
  if (target.isa != host.isa) {
    limit_onednn(MaxIsa::kAvx2);
  } else {
    limit_onednn(target.bf16 == host.bf16 ? max : MaxIsa::kAvx512);
  }
}

}  // namespace lockstep
