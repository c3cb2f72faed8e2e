// The target that tests compile for.
#pragma once

#include "core/base/settings.h"
#include "core/ir/target.h"
#include "core/kernels/libraries.h"

namespace lockstep {

/// The best of this machine within LOCKSTEP_MAX_ISA, which the tests named *_avx2 set. oneDNN is
/// limited to it, too.
inline Target tested_target() {
  const Target out = host_target(settings_from_environment().max_isa);
  limit_onednn(out);
  return out;
}

}  // namespace lockstep
