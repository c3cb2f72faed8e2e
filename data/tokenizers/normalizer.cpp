#include "data/tokenizers/normalizer.h"

#include "data/files/utf8.h"
#include "data/tokenizers/byte_level.h"
#include "data/tokenizers/growth.h"
#include "data/tokenizers/replace_pattern.h"
#include "data/tokenizers/unicode.h"

namespace lockstep {
namespace {

bool is_ideograph(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

/// Calls f(character, out) for each character; f appends to `out`.
template <class F>
std::string map_characters(const std::string& text, const F& f) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto character = decode_utf8(text, at);
    if (character) f(character->code_point, out);
    at += character ? character->bytes : 1;
  }
  return out;
}

std::string without(const std::string& text, bool (*drop)(char32_t)) {
  return map_characters(text, [&](char32_t c, std::string& out) {
    if (!drop(c)) append_utf8(out, c);
  });
}

class BertNormalizer final : public Normalizer {
 public:
  explicit BertNormalizer(const JsonPlace& json)
      : clean_(json.boolean_or("clean_text", true)),
        ideographs_(json.boolean_or("handle_chinese_chars", true)),
        lowercase_(json.boolean_or("lowercase", true)),
        accents_(json.boolean_or("strip_accents", lowercase_)) {
    json.allow_only({"clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
  }

  std::string apply(std::string text) const override {
    if (clean_) text = clean(text);
    if (ideographs_) {
      text = map_characters(text, [](char32_t c, std::string& out) {
        if (is_ideograph(c)) out += ' ';
        append_utf8(out, c);
        if (is_ideograph(c)) out += ' ';
      });
    }
    if (accents_) text = without(normalize(text, NormalForm::kNfd), is_nonspacing_mark);
    if (lowercase_) text = lowercase(text);
    return text;
  }

 private:
  static std::string clean(const std::string& text) {
    return map_characters(text, [](char32_t c, std::string& out) {
      if (c == '\t' || c == '\n' || c == '\r' || is_white_space(c)) {
        // U+0085 and the like are also white space, but count as control characters first.
        if (c == '\t' || c == '\n' || c == '\r' || !is_control(c)) out += ' ';
      } else if (c != 0 && c != 0xFFFD && !is_control(c)) {
        append_utf8(out, c);
      }
    });
  }

  bool clean_;
  bool ideographs_;
  bool lowercase_;
  bool accents_;
};

class Form final : public Normalizer {
 public:
  Form(const JsonPlace& json, NormalForm form) : form_(form) { json.allow_only({}); }
  std::string apply(std::string text) const override { return normalize(text, form_); }

 private:
  NormalForm form_;
};

class Lowercase final : public Normalizer {
 public:
  explicit Lowercase(const JsonPlace& json) { json.allow_only({}); }
  std::string apply(std::string text) const override { return lowercase(text); }
};

class StripAccents final : public Normalizer {
 public:
  explicit StripAccents(const JsonPlace& json) { json.allow_only({}); }
  std::string apply(std::string text) const override { return without(text, is_mark); }
};

class StripNormalizer final : public Normalizer {
 public:
  explicit StripNormalizer(const JsonPlace& json)
      : left_(json.at("strip_left").boolean()), right_(json.at("strip_right").boolean()) {
    json.allow_only({"strip_left", "strip_right"});
  }

  std::string apply(std::string text) const override {
    std::size_t begin = text.size();
    std::size_t end = 0;
    for (std::size_t at = 0; at < text.size();) {
      const auto character = decode_utf8(text, at);
      const std::size_t bytes = character ? character->bytes : 1;
      if (!character || !is_white_space(character->code_point)) {
        begin = std::min(begin, at);
        end = at + bytes;
      }
      at += bytes;
    }
    if (begin == text.size()) return left_ || right_ ? "" : text;
    if (!left_) begin = 0;
    return text.substr(begin, (right_ ? end : text.size()) - begin);
  }

 private:
  bool left_;
  bool right_;
};

class Prepend final : public Normalizer {
 public:
  explicit Prepend(const JsonPlace& json) : text_(inserted_text(json.at("prepend"))) {
    json.allow_only({"prepend"});
  }
  std::string apply(std::string text) const override { return text.empty() ? text : text_ + text; }

 private:
  std::string text_;
};

class ReplaceNormalizer final : public Normalizer {
 public:
  explicit ReplaceNormalizer(const JsonPlace& json) : pattern_(json) {}
  std::string apply(std::string text) const override { return pattern_.apply(text); }

 private:
  ReplacePattern pattern_;
};

class ByteLevelNormalizer final : public Normalizer {
 public:
  explicit ByteLevelNormalizer(const JsonPlace& json) { json.allow_only({}); }
  std::string apply(std::string text) const override { return byte_level_text(text); }
};

class SequenceNormalizer final : public Normalizer {
 public:
  explicit SequenceNormalizer(const JsonPlace& json) {
    json.allow_only({"normalizers"});
    for (const JsonPlace& one : json.at("normalizers").elements())
      steps_.push_back(make_normalizer(one));
  }
  std::string apply(std::string text) const override {
    const std::size_t size = text.size();
    for (const auto& step : steps_) {
      text = step->apply(std::move(text));
      check_growth(size, text.size());
    }
    return text;
  }

 private:
  std::vector<std::unique_ptr<const Normalizer>> steps_;
};

}  // namespace

std::unique_ptr<const Normalizer> make_normalizer(const JsonPlace& json) {
  const std::string type = json.type();
  if (type == "BertNormalizer") return std::make_unique<BertNormalizer>(json);
  if (type == "NFC") return std::make_unique<Form>(json, NormalForm::kNfc);
  if (type == "NFD") return std::make_unique<Form>(json, NormalForm::kNfd);
  if (type == "NFKC") return std::make_unique<Form>(json, NormalForm::kNfkc);
  if (type == "NFKD") return std::make_unique<Form>(json, NormalForm::kNfkd);
  if (type == "Lowercase") return std::make_unique<Lowercase>(json);
  if (type == "StripAccents") return std::make_unique<StripAccents>(json);
  if (type == "Strip") return std::make_unique<StripNormalizer>(json);
  if (type == "Prepend") return std::make_unique<Prepend>(json);
  if (type == "Replace") return std::make_unique<ReplaceNormalizer>(json);
  if (type == "ByteLevel") return std::make_unique<ByteLevelNormalizer>(json);
  if (type == "Sequence") return std::make_unique<SequenceNormalizer>(json);
  json.refuse_type("normalizer");
}

}  // namespace lockstep
