// The input texts of `lockstep prepare`: plain text, or a field of JSON Lines.
#pragma once

#include <string>
#include <vector>

#include "trainer/cli/arguments.h"

namespace lockstep {

struct TextInput {
  std::string path;
  std::string text;
};

/// The options --text-field and --plain-text, for commands that read such texts.
std::vector<Option> text_input_options();

/// Reads the files of the positional arguments. Error kData naming the file, and what to do, for a
/// file that is not text; kUsage for options that contradict each other.
std::vector<TextInput> read_text_inputs(const Arguments& arguments);

}  // namespace lockstep
