// The target that benchmarks compile for.
#pragma once

#include "core/base/settings.h"
#include "core/kernels/base/libraries.h"

namespace lockstep {

/// The best of this machine within LOCKSTEP_MAX_ISA, as in training; oneDNN is limited to it, too.
inline Target bench_target() {
  const Target out = host_target(settings_from_environment().max_isa);
  limit_onednn(out);
  return out;
}

}  // namespace lockstep
