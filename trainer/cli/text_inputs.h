// The texts that `lockstep prepare` is given: plain ones, or a field of JSON Lines.
#pragma once

#include <string>
#include <vector>

#include "trainer/cli/arguments.h"

namespace lockstep {

struct TextInput {
  std::string path;
  std::string text;
};

/// Of a command that has them: --text-field and --plain-text.
std::vector<Option> text_input_options();

/// What the positional arguments name. Error kData naming the file, and what to do, for one that is
/// no text; kUsage for options that contradict each other.
std::vector<TextInput> read_text_inputs(const Arguments& arguments);

}  // namespace lockstep
