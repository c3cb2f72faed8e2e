// Plain text, told from what is often given in its place: packed files, arrays, images, JSON Lines.
// Any bytes can be learnt, but hardly anybody means to.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lockstep {

struct ForeignFormat {
  std::string_view what;    ///< "gzip data"
  std::string_view remedy;  ///< "unpack it first (gunzip)"
};

/// What the contents of a file are, by their first bytes; nothing for what may be text.
std::optional<ForeignFormat> foreign_format(std::string_view contents);

/// Whether its first line that is not blank looks like a JSON object.
bool looks_like_jsonl(std::string_view contents);

/// For who trains on the lines as they are.
std::string warning_of_jsonl(const std::string& path);

/// The file's bytes. Errors as of read_text, and kData naming file, format and remedy for a foreign
/// one.
std::string read_plain_text(const std::string& path);

}  // namespace lockstep
