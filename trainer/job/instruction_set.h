// The instruction set of a job: what the processors of all its ranks have. Gradients may come from
// any kernels, but every rank must make the same new parameters of them, bit for bit, and the
// update program does so on all processors only if it is compiled for the same set. So ranks agree
// on it before the first kernel is made, and before oneDNN looks at the processor.
#pragma once

#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/base/settings.h"
#include "core/ir/target.h"
#include "core/runtime/communicator.h"

namespace lockstep {

struct InstructionSet {
  Target target;                        ///< without its memory
  std::vector<std::string> cpu_models;  ///< of all ranks, each once, sorted
};

/// "AVX2", "AVX-512", "AVX-512 with bf16", "AVX-512 with AMX"
std::string name_of(const Target& target);

/// Called by all ranks, with the same `max`, which Settings::max_isa may narrow. Keeps this
/// process's kernels within the result. Says in the log which ranks held it back, if not all have
/// the same. Error kUsage if this processor has less than Settings::pretended_units made the others
/// believe, or if kernels of this process were made for another result, see limit_onednn().
InstructionSet agree_on_instruction_set(Communicator& communicator, MaxIsa max,
                                        const Settings& settings, Log& log);

}  // namespace lockstep
