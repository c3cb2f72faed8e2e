// The trainer's state as attributes of the group /trainer.
#pragma once

#include <map>
#include <string>

#include "checkpoint/hdf5_file.h"
#include "checkpoint/state.h"

namespace lockstep {

inline constexpr const char* kTrainer = "/trainer";
inline constexpr const char* kTokenizer = "/trainer/tokenizer";
inline constexpr const char* kSamples = "/trainer/samples";

/// Writes /trainer, /trainer/tokenizer and, unless it is empty, /trainer/samples, with this build's
/// versions.
void write_trainer(Hdf5File& file, const TrainerState& trainer);

/// From the attributes of /trainer. Error kCheckpoint naming an attribute that is missing, of
/// another type, unknown, or outside its range. `path` is for messages.
TrainerState read_trainer(const std::map<std::string, Hdf5Attribute>& attributes,
                          const std::string& path);

/// The text in a data set of /trainer. Error kCheckpoint naming it.
std::string text_of(const HostTensor& bytes, const char* name, const std::string& path);

}  // namespace lockstep
