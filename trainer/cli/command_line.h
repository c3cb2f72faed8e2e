// The command line of `lockstep` for a program with rows of its own.
#pragma once

#include "core/base/api.h"
#include "trainer/registry/registry.h"

namespace LOCKSTEP_API lockstep {

/// A whole program: `lockstep`, with the models, datasets, optimizers and metrics of `registry`. To
/// be called first in main(), which returns its value.
int command_line(int argc, char** argv, const Registry& registry);

}  // namespace lockstep
