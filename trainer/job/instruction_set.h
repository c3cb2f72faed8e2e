// The instruction set of a job: the one that the processors of all its ranks have. Gradients may
// come from any kernels, but every rank must compute the same new parameters from them, bit for
// bit. The update program does so only if it is compiled for the same set on all ranks. So ranks
// agree on it before the first kernel is made, and before oneDNN examines the processor.
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

/// Called by all ranks, with the same `max`, which Settings::max_isa may narrow. Limits this
/// process's kernels to the result. If the ranks differ, logs which ranks limited it. Error kUsage
/// if this processor has less than Settings::pretended_units claimed to the others, or if this
/// process already has kernels for another result, see limit_onednn().
InstructionSet agree_on_instruction_set(Communicator& communicator, MaxIsa max,
                                        const Settings& settings, Log& log);

}  // namespace lockstep
