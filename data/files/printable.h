// Names of files and classes, which may be any bytes, where people read them.
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

/// The text on one line: control characters, which terminals obey, and bytes that are not UTF-8
/// become "\n", "\t" or "\x1b"; all else is as it is.
std::string printable(std::string_view text);

}  // namespace lockstep
