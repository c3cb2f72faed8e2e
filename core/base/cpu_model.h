// Which CPU this is, for artifacts that fit one kind only.
#pragma once

#include "core/base/hash.h"

namespace lockstep {

/// A hash of the CPU's vendor, family, model and stepping, and of the instruction sets that it and
/// the operating system offer. Equal on machines of one kind.
Hash128 cpu_model();

}  // namespace lockstep
