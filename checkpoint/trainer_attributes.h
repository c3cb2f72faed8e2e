// The trainer's state as attributes of the group /trainer.
#pragma once

#include <map>
#include <string>

#include "checkpoint/hdf5_file.h"
#include "checkpoint/state.h"

namespace lockstep {

inline constexpr const char* kTrainer = "/trainer";
inline constexpr const char* kTokenizer = "/trainer/tokenizer";

/// Writes /trainer and /trainer/tokenizer, stamped with this build's versions.
void write_trainer(Hdf5File& file, const TrainerState& trainer);

/// From the attributes of /trainer and the data set /trainer/tokenizer. Error kCheckpoint naming
/// what is missing, of another type, unknown, or a number that no trainer has. `path` is for
/// messages.
TrainerState read_trainer(const std::map<std::string, Hdf5Attribute>& attributes,
                          const HostTensor& tokenizer, const std::string& path);

}  // namespace lockstep
