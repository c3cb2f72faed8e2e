// GPT-2's first cut of a text: words with their leading space, numbers, punctuation, white space.
// Byte pairs are never merged across these pieces.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

namespace lockstep {

class Pretokenizer {
 public:
  Pretokenizer();
  ~Pretokenizer();

  /// Pieces that join to `text` again. Bytes that are not UTF-8 are allowed: a run of them is a
  /// piece. Thread-safe.
  std::vector<std::string_view> split(std::string_view text) const;

 private:
  struct Pattern;
  void split_utf8(std::string_view text, std::vector<std::string_view>& out) const;

  std::unique_ptr<Pattern> pattern_;
};

}  // namespace lockstep
