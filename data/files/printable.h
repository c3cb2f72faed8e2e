// Makes names of files and classes, which may be any bytes, printable for users.
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

/// The text on one line: control characters, which terminals obey, and bytes that are not UTF-8
/// become "\n", "\t" or "\x1b"; everything else stays as it is.
std::string printable(std::string_view text);

}  // namespace lockstep
