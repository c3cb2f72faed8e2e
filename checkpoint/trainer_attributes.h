// The trainer's state as attributes of the group /trainer.
#pragma once

#include "checkpoint/hdf5_file.h"
#include "checkpoint/state.h"

namespace lockstep {

/// Writes /trainer and /trainer/tokenizer, stamped with this build's versions.
void write_trainer(Hdf5File& file, const TrainerState& trainer);

/// Error naming the attribute if one is missing or of another type. `path` is for messages.
TrainerState read_trainer(const Hdf5File& file, const std::string& path);

}  // namespace lockstep
