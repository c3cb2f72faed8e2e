// The command line of `lockstep` for a program that registers its own rows.
#pragma once

#include "core/base/api.h"
#include "trainer/registry/registry.h"

namespace LOCKSTEP_API lockstep {

/// A whole program: `lockstep`, with the models, datasets, optimizers and metrics of `registry`.
/// Call it first in main(), and return its value.
int command_line(int argc, char** argv, const Registry& registry);

}  // namespace lockstep
