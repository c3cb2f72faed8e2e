// The decoders of huggingface/tokenizers (tokenizers/src/decoders), in their original form: each
// turns a whole list of parts into a whole list of parts.
#pragma once

#include <string>
#include <vector>

#include "data/files/utf8.h"
#include "data/tokenizers/byte_level.h"

namespace lockstep::reference {

using Parts = std::vector<std::string>;

inline std::string joined(const Parts& parts) {
  std::string out;
  for (const std::string& part : parts) out += part;
  return out;
}

inline std::string replaced(const std::string& text, const std::string& from,
                            const std::string& to) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const bool here = text.compare(at, from.size(), from) == 0;
    out += here ? to : text.substr(at, 1);
    at += here ? from.size() : 1;
  }
  return out;
}

inline Parts replace(Parts parts, const std::string& from, const std::string& to) {
  for (std::string& part : parts) part = replaced(part, from, to);
  return parts;
}

inline Parts byte_level(const Parts& parts) {
  std::string out;
  for (const std::string& part : parts) out += bytes_of_byte_level(part).value_or(part);
  return {out};
}

inline Parts fuse(const Parts& parts) {
  return {joined(parts)};
}

inline Parts metaspace(Parts parts) {
  for (std::size_t i = 0; i < parts.size(); ++i)
    parts[i] = replaced(parts[i], "\u2581", i == 0 ? "" : " ");
  return parts;
}

inline Parts bpe(Parts parts) {
  for (std::size_t i = 0; i < parts.size(); ++i)
    parts[i] = replaced(parts[i], "</w>", i + 1 == parts.size() ? "" : " ");
  return parts;
}

inline Parts word_piece(Parts parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) parts[i] = parts[i].starts_with("##") ? parts[i].substr(2) : " " + parts[i];
    for (const auto& [from, to] : {std::pair{" .", "."}, {" ' ", "'"}, {" do not", " don't"}})
      parts[i] = replaced(parts[i], from, to);
  }
  return parts;
}

inline Parts byte_fallback(const Parts& parts) {
  Parts out;
  std::string run;
  const auto end_run = [&] {
    if (end_of_utf8(run, 0) < run.size()) {
      out.insert(out.end(), run.size(), "\uFFFD");
    } else if (!run.empty()) {
      out.push_back(run);
    }
    run.clear();
  };
  for (const std::string& part : parts) {
    if (part.size() == 6 && part.starts_with("<0x") && part.ends_with(">")) {
      run += static_cast<char>(std::stoi(part.substr(3, 2), nullptr, 16));
    } else {
      end_run();
      out.push_back(part);
    }
  }
  end_run();
  return out;
}

inline Parts strip(Parts parts, const std::string& content, int start, int stop) {
  for (std::string& part : parts) {
    for (int i = 0; i < start && part.starts_with(content); ++i) part.erase(0, content.size());
    for (int i = 0; i < stop && part.ends_with(content); ++i)
      part.erase(part.size() - content.size());
  }
  return parts;
}

}  // namespace lockstep::reference
