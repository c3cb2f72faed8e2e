// Detects files that are often given instead of plain text: packed files, arrays, images, JSON
// Lines. A model can be trained on any bytes, but such files are almost always a mistake.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lockstep {

struct ForeignFormat {
  std::string_view what;    ///< "gzip data"
  std::string_view remedy;  ///< "unpack it first (gunzip)"
};

/// The format of a file, by its first bytes; nothing if it may be text.
std::optional<ForeignFormat> foreign_format(std::string_view contents);

/// Whether its first line that is not blank looks like a JSON object.
bool looks_like_jsonl(std::string_view contents);

/// The warning for users who train on the lines as they are.
std::string warning_of_jsonl(const std::string& path);

/// The file's bytes. Errors as of read_text; error kData naming file, format and remedy for a file
/// of a foreign format.
std::string read_plain_text(const std::string& path);

}  // namespace lockstep
