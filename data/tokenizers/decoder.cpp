#include "data/tokenizers/decoder.h"

#include <array>
#include <charconv>
#include <numeric>
#include <optional>

#include "core/base/error.h"
#include "data/tokenizers/byte_level.h"
#include "data/tokenizers/growth.h"
#include "data/tokenizers/replace_pattern.h"
#include "data/tokenizers/utf8.h"

namespace lockstep {
namespace {

using Parts = std::vector<std::string>;

std::string joined(const Parts& parts) {
  std::string out;
  for (const std::string& part : parts) out += part;
  return out;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) return;
  std::string out;
  std::size_t at = 0;
  for (std::size_t found; (found = text.find(from, at)) != text.npos; at = found + from.size()) {
    out.append(text, at, found - at);
    out += to;
  }
  if (at == 0) return;
  out.append(text, at);
  text = std::move(out);
}

class ByteLevel final : public Decoder {
 public:
  explicit ByteLevel(const JsonPlace& json) {
    json.allow_only({"add_prefix_space", "trim_offsets", "use_regex"});
  }
  void apply(Parts& parts) const override {
    std::string text;
    for (const std::string& part : parts) text += bytes_of_byte_level(part).value_or(part);
    parts = {std::move(text)};
  }
};

class WordPiece final : public Decoder {
 public:
  explicit WordPiece(const JsonPlace& json)
      : prefix_(json.string_or("prefix", "##")), cleanup_(json.boolean_or("cleanup", true)) {
    json.allow_only({"prefix", "cleanup"});
  }

  void apply(Parts& parts) const override {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i > 0 && parts[i].starts_with(prefix_)) {
        parts[i].erase(0, prefix_.size());
      } else if (i > 0) {
        parts[i].insert(0, 1, ' ');
      }
      if (cleanup_) clean_up(parts[i]);
    }
  }

 private:
  /// Punctuation goes back to its word, as in English.
  static void clean_up(std::string& text) {
    constexpr std::array<std::pair<const char*, const char*>, 11> kJoins = {{{" .", "."},
                                                                             {" ?", "?"},
                                                                             {" !", "!"},
                                                                             {" ,", ","},
                                                                             {" ' ", "'"},
                                                                             {" n't", "n't"},
                                                                             {" 'm", "'m"},
                                                                             {" do not", " don't"},
                                                                             {" 's", "'s"},
                                                                             {" 've", "'ve"},
                                                                             {" 're", "'re"}}};
    for (const auto& [from, to] : kJoins) replace_all(text, from, to);
  }

  std::string prefix_;
  bool cleanup_;
};

class Metaspace final : public Decoder {
 public:
  explicit Metaspace(const JsonPlace& json)
      : space_(inserted_text(json.at("replacement"))),
        drops_first_(json.string_or("prepend_scheme", "always") != "never" &&
                     json.boolean_or("add_prefix_space", true)) {
    json.allow_only({"replacement", "prepend_scheme", "add_prefix_space", "split", "str_rep"});
  }
  void apply(Parts& parts) const override {
    for (std::size_t i = 0; i < parts.size(); ++i)
      replace_all(parts[i], space_, i == 0 && drops_first_ ? "" : " ");
  }

 private:
  std::string space_;
  bool drops_first_;
};

class ByteFallback final : public Decoder {
 public:
  explicit ByteFallback(const JsonPlace& json) { json.allow_only({}); }

  void apply(Parts& parts) const override {
    Parts out;
    std::string bytes;  // of the run of byte tokens before
    const auto flush = [&] {
      if (bytes.empty()) return;
      if (end_of_utf8(bytes, 0) == bytes.size()) {
        out.push_back(bytes);
      } else {
        out.insert(out.end(), bytes.size(), "\uFFFD");
      }
      bytes.clear();
    };
    for (std::string& part : parts) {
      if (const auto byte = byte_of(part)) {
        bytes += *byte;
      } else {
        flush();
        out.push_back(std::move(part));
      }
    }
    flush();
    parts = std::move(out);
  }

 private:
  /// Of "<0xAB>".
  static std::optional<char> byte_of(const std::string& token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
    unsigned value = 0;
    const char* end = token.data() + 5;
    const auto [at, error] = std::from_chars(token.data() + 3, end, value, 16);
    if (error != std::errc() || at != end) return std::nullopt;
    return static_cast<char>(static_cast<unsigned char>(value));
  }
};

class BpeDecoder final : public Decoder {
 public:
  explicit BpeDecoder(const JsonPlace& json) : suffix_(json.string_or("suffix", "</w>")) {
    json.allow_only({"suffix"});
  }
  void apply(Parts& parts) const override {
    for (std::size_t i = 0; i < parts.size(); ++i)
      replace_all(parts[i], suffix_, i + 1 == parts.size() ? "" : " ");
  }

 private:
  std::string suffix_;
};

class Replace final : public Decoder {
 public:
  explicit Replace(const JsonPlace& json) : pattern_(json) {}
  void apply(Parts& parts) const override {
    for (std::string& part : parts)
      if (end_of_utf8(part, 0) == part.size()) part = pattern_.apply(part);
  }

 private:
  ReplacePattern pattern_;
};

/// Up to `start` times a character at the beginning of each part, and `stop` times at the end.
class Strip final : public Decoder {
 public:
  explicit Strip(const JsonPlace& json)
      : content_(inserted_text(json.at("content"))),
        start_(json.at("start").number()),
        stop_(json.at("stop").number()) {
    json.allow_only({"content", "start", "stop"});
    if (count_characters(content_) != 1) json.refuse("'content' is not one character");
  }
  void apply(Parts& parts) const override {
    for (std::string& part : parts) {
      std::string_view rest = part;
      for (std::int32_t i = 0; i < start_ && rest.starts_with(content_); ++i)
        rest.remove_prefix(content_.size());
      for (std::int32_t i = 0; i < stop_ && rest.ends_with(content_); ++i)
        rest.remove_suffix(content_.size());
      part = std::string(rest);
    }
  }

 private:
  std::string content_;
  std::int32_t start_;
  std::int32_t stop_;
};

class Fuse final : public Decoder {
 public:
  explicit Fuse(const JsonPlace& json) { json.allow_only({}); }
  void apply(Parts& parts) const override { parts = {joined(parts)}; }
};

class Sequence final : public Decoder {
 public:
  explicit Sequence(const JsonPlace& json) {
    json.allow_only({"decoders"});
    for (const JsonPlace& one : json.at("decoders").elements()) steps_.push_back(make_decoder(one));
  }
  void apply(Parts& parts) const override {
    const std::size_t size = size_of(parts);
    for (const auto& step : steps_) {
      step->apply(parts);
      check_growth(size, size_of(parts));
    }
  }

 private:
  static std::size_t size_of(const Parts& parts) {
    return std::accumulate(parts.begin(), parts.end(), std::size_t{0},
                           [](std::size_t sum, const std::string& s) { return sum + s.size(); });
  }

  std::vector<std::unique_ptr<const Decoder>> steps_;
};

}  // namespace

std::unique_ptr<const Decoder> make_decoder(const JsonPlace& json) {
  const std::string type = json.type();
  if (type == "ByteLevel") return std::make_unique<ByteLevel>(json);
  if (type == "WordPiece") return std::make_unique<WordPiece>(json);
  if (type == "Metaspace") return std::make_unique<Metaspace>(json);
  if (type == "ByteFallback") return std::make_unique<ByteFallback>(json);
  if (type == "BPEDecoder") return std::make_unique<BpeDecoder>(json);
  if (type == "Replace") return std::make_unique<Replace>(json);
  if (type == "Strip") return std::make_unique<Strip>(json);
  if (type == "Fuse") return std::make_unique<Fuse>(json);
  if (type == "Sequence") return std::make_unique<Sequence>(json);
  json.refuse_type("decoder");
}

}  // namespace lockstep
