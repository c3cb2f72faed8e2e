// Removes line and column of a file from messages, for tests that do not check them.
#pragma once

#include <algorithm>
#include <string>

namespace lockstep {

/// The message without the ":LINE:COLUMN" after this file's name.
inline std::string without_positions(std::string message, const std::string& file) {
  for (std::size_t at = 0; (at = message.find(file + ":", at)) != std::string::npos;) {
    at += file.size();
    for (int i = 0; i < 2; ++i) {
      const std::size_t end = message.find_first_not_of("0123456789", at + 1);
      if (end == at + 1 || message[at] != ':') break;
      message.erase(at, std::min(end, message.size()) - at);
    }
  }
  return message;
}

}  // namespace lockstep
