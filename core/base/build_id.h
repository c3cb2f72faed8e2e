// Which build this process is: what another build wrote for itself alone is not trusted.
#pragma once

#include "core/base/hash.h"

namespace lockstep {

/// A hash of the executable: of the build id that the linker derived from its contents, or of the
/// whole file where there is none. Equal for copies of one executable, different as soon as
/// anything in it was changed and linked again.
Hash128 build_id();

}  // namespace lockstep
