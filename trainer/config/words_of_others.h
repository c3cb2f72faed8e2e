// Keys that other frameworks have, for users who know those.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

struct WordOfOthers {
  std::string text = {};               ///< "this is 'optimizer.learning_rate' here"
  std::vector<std::string> keys = {};  ///< that it names
};

/// For the last part of a key ("lr") of nanoGPT, the Hugging Face Trainer, PyTorch or Lightning
/// that this config calls otherwise or expresses by others; nothing for any other.
std::optional<WordOfOthers> word_of_others(std::string_view name);

}  // namespace lockstep
