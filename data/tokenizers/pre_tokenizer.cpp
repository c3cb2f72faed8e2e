#include "data/tokenizers/pre_tokenizer.h"

#include <functional>

#include "data/files/utf8.h"
#include "data/tokenizers/byte_level.h"
#include "data/tokenizers/growth.h"
#include "data/tokenizers/regex.h"
#include "data/tokenizers/replace_pattern.h"
#include "data/tokenizers/split.h"
#include "data/tokenizers/unicode.h"

namespace lockstep {
namespace {

// Source: openai/gpt-2, src/encoder.py.
constexpr const char* kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
using Ranges = std::vector<TextRange>;

/// All matches and the text between them.
Ranges ranges_of(const Regex& regex, std::string_view text) {
  Ranges out;
  std::size_t done = 0;
  regex.for_each_match(text, [&](std::size_t begin, std::size_t end) {
    if (done < begin) out.push_back({done, begin, false});
    out.push_back({begin, end, true});
    done = end;
  });
  if (done < text.size()) out.push_back({done, text.size(), false});
  return out;
}

/// Each character for which `matches` is true, and the text between them.
Ranges ranges_of(bool (*matches)(char32_t), std::string_view text) {
  Ranges out;
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto character = decode_utf8(text, at);
    const std::size_t end = at + (character ? character->bytes : 1);
    if (character && matches(character->code_point)) {
      if (done < at) out.push_back({done, at, false});
      out.push_back({at, end, true});
      done = end;
    }
    at = end;
  }
  if (done < text.size()) out.push_back({done, text.size(), false});
  return out;
}

/// Replaces each word by its ranges; empty ones are left out.
template <class F>
void split_words(Words& words, const F& ranges) {
  std::vector<Word> out;
  out.reserve(words.list.size());
  for (const Word& word : words.list)
    for (const TextRange& range : ranges(word.text))
      if (range.begin < range.end)
        out.push_back({word.text.substr(range.begin, range.end - range.begin),
                       word.first && range.begin == 0});
  words.list = std::move(out);
}

/// Cuts at a class of characters.
class ByClass final : public PreTokenizer {
 public:
  ByClass(bool (*matches)(char32_t), SplitBehavior behavior)
      : matches_(matches), behavior_(behavior) {}
  void apply(Words& words) const override {
    split_words(words,
                [&](std::string_view text) { return cut(ranges_of(matches_, text), behavior_); });
  }

 private:
  bool (*matches_)(char32_t);
  SplitBehavior behavior_;
};

/// Cuts at the matches of an expression; `inverted`: between them.
class ByRegex final : public PreTokenizer {
 public:
  ByRegex(Regex regex, SplitBehavior behavior, bool inverted)
      : regex_(std::move(regex)), behavior_(behavior), inverted_(inverted) {}
  void apply(Words& words) const override {
    if (behavior_ == SplitBehavior::kIsolated) return isolate(words);
    split_words(words, [&](std::string_view text) {
      Ranges ranges = ranges_of(regex_, text);
      if (inverted_)
        for (TextRange& range : ranges) range.matched = !range.matched;
      return cut(std::move(ranges), behavior_);
    });
  }

 private:
  /// The most frequent case, without an intermediate list of ranges.
  void isolate(Words& words) const {
    std::vector<Word> out;
    if (words.list.size() == 1) out.reserve(words.list[0].text.size() / 4);
    for (const Word& word : words.list) {
      std::size_t done = 0;
      const auto add = [&](std::size_t begin, std::size_t end) {
        if (begin < end)
          out.push_back({word.text.substr(begin, end - begin), word.first && begin == 0});
      };
      regex_.for_each_match(word.text, [&](std::size_t begin, std::size_t end) {
        add(done, begin);
        add(begin, end);
        done = end;
      });
      add(done, word.text.size());
    }
    words.list = std::move(out);
  }

  Regex regex_;
  SplitBehavior behavior_;
  bool inverted_;
};

/// Takes runs of word characters, and runs of others that are not white space:
/// huggingface/tokenizers, pre_tokenizers/whitespace.rs, \w+|[^\w\s]+.
class WordsAndOthers final : public PreTokenizer {
 public:
  void apply(Words& words) const override {
    split_words(words, [](std::string_view text) {
      Ranges out;
      Kind before = Kind::kSpace;
      for (std::size_t at = 0; at < text.size();) {
        const auto character = decode_utf8(text, at);
        const std::size_t end = at + (character ? character->bytes : 1);
        const Kind kind = character ? kind_of(character->code_point) : Kind::kOther;
        if (kind != Kind::kSpace && kind == before) {
          out.back().end = end;
        } else if (kind != Kind::kSpace) {
          out.push_back({at, end, true});
        }
        before = kind;
        at = end;
      }
      return out;
    });
  }

 private:
  enum class Kind : std::uint8_t { kSpace, kWord, kOther };
  static Kind kind_of(char32_t c) {
    return is_word_character(c) ? Kind::kWord : is_white_space(c) ? Kind::kSpace : Kind::kOther;
  }
};

class PrefixSpace final : public PreTokenizer {
 public:
  void apply(Words& words) const override {
    for (Word& word : words.list)
      if (!word.text.starts_with(' ')) word.text = words.keep(" " + std::string(word.text));
  }
};

/// Writes bytes as characters.
class ByteCharacters final : public PreTokenizer {
 public:
  void apply(Words& words) const override {
    for (Word& word : words.list) word.text = words.keep(byte_level_text(word.text));
  }
};

enum class PrependScheme : std::uint8_t { kFirst, kNever, kAlways };

class MetaspacePreTokenizer final : public PreTokenizer {
 public:
  explicit MetaspacePreTokenizer(const JsonPlace& json)
      : space_(json.at("replacement").string()), scheme_(scheme_of(json)) {
    json.allow_only({"replacement", "prepend_scheme", "add_prefix_space", "split", "str_rep"});
    if (count_characters(space_) != 1) json.at("replacement").refuse("not one character");
    if (json.boolean_or("split", true))
      cut_ = std::make_unique<ByRegex>(Regex::of_literal(space_), SplitBehavior::kMergedWithNext,
                                       false);
  }

  void apply(Words& words) const override {
    for (Word& word : words.list) {
      std::string text;
      for (const char c : word.text) {
        if (c == ' ') {
          text += space_;
        } else {
          text += c;
        }
      }
      const bool wanted =
          scheme_ == PrependScheme::kAlways || (scheme_ == PrependScheme::kFirst && word.first);
      if (wanted && !text.starts_with(space_)) text.insert(0, space_);
      word.text = words.keep(std::move(text));
    }
    if (cut_ != nullptr) cut_->apply(words);
  }

 private:
  static PrependScheme scheme_of(const JsonPlace& json) {
    const std::string name = json.string_or("prepend_scheme", "always");
    if (!json.boolean_or("add_prefix_space", true)) {
      if (json.find("prepend_scheme") && name != "never")
        json.refuse("'add_prefix_space: false' contradicts 'prepend_scheme'");
      return PrependScheme::kNever;
    }
    if (name == "always") return PrependScheme::kAlways;
    if (name == "first") return PrependScheme::kFirst;
    if (name == "never") return PrependScheme::kNever;
    json.at("prepend_scheme").refuse("none of 'always', 'first' and 'never'");
  }

  std::string space_;
  PrependScheme scheme_;
  std::unique_ptr<const PreTokenizer> cut_;
};

class Steps final : public PreTokenizer {
 public:
  explicit Steps(std::vector<std::unique_ptr<const PreTokenizer>> steps)
      : steps_(std::move(steps)) {}
  void apply(Words& words) const override {
    const std::size_t size = size_of(words);
    for (const auto& step : steps_) {
      step->apply(words);
      check_growth(size, size_of(words));
    }
  }

 private:
  static std::size_t size_of(const Words& words) {
    std::size_t out = 0;
    for (const Word& word : words.list) out += word.text.size();
    return out;
  }

  std::vector<std::unique_ptr<const PreTokenizer>> steps_;
};

using StepList = std::vector<std::unique_ptr<const PreTokenizer>>;

std::unique_ptr<const PreTokenizer> make_split(const JsonPlace& json) {
  json.allow_only({"pattern", "behavior", "invert"});
  return std::make_unique<ByRegex>(pattern_of(json), split_behavior(json.at("behavior")),
                                   json.boolean_or("invert", false));
}

void add_byte_level(const JsonPlace& json, StepList& out) {
  json.allow_only({"add_prefix_space", "trim_offsets", "use_regex"});
  if (json.boolean_or("add_prefix_space", true)) out.push_back(std::make_unique<PrefixSpace>());
  if (json.boolean_or("use_regex", true))
    out.push_back(std::make_unique<ByRegex>(Regex(kGpt2Pattern, json.place()),
                                            SplitBehavior::kIsolated, false));
}

/// Adds the steps of a component. ByteLevel's last step is not added but recorded in `whole`.
void add_steps(const JsonPlace& json, StepList& out, WordCutter& whole) {
  const std::string type = json.type();
  if (whole.byte_level) {
    out.push_back(std::make_unique<ByteCharacters>());
    whole.byte_level = false;
  }
  const auto by_class = [&](bool (*matches)(char32_t), SplitBehavior behavior) {
    out.push_back(std::make_unique<ByClass>(matches, behavior));
  };
  if (type == "ByteLevel") {
    add_byte_level(json, out);
    whole.byte_level = whole.takes_bytes = true;
  } else if (type == "BertPreTokenizer") {
    json.allow_only({});
    by_class(is_white_space, SplitBehavior::kRemoved);
    by_class(is_punctuation, SplitBehavior::kIsolated);
  } else if (type == "Whitespace") {
    json.allow_only({});
    out.push_back(std::make_unique<WordsAndOthers>());
  } else if (type == "WhitespaceSplit") {
    json.allow_only({});
    by_class(is_white_space, SplitBehavior::kRemoved);
  } else if (type == "Punctuation") {
    json.allow_only({"behavior"});
    const auto behavior = json.find("behavior");
    by_class(is_punctuation, behavior ? split_behavior(*behavior) : SplitBehavior::kIsolated);
  } else if (type == "Digits") {
    json.allow_only({"individual_digits"});
    by_class(is_numeric, json.boolean_or("individual_digits", false) ? SplitBehavior::kIsolated
                                                                     : SplitBehavior::kContiguous);
  } else if (type == "Split") {
    out.push_back(make_split(json));
  } else if (type == "Metaspace") {
    out.push_back(std::make_unique<MetaspacePreTokenizer>(json));
  } else if (type == "Sequence") {
    json.allow_only({"pretokenizers"});
    for (const JsonPlace& one : json.at("pretokenizers").elements()) add_steps(one, out, whole);
  } else {
    json.refuse_type("pre_tokenizer");
  }
}

}  // namespace

WordCutter make_pre_tokenizer(const JsonPlace& json) {
  WordCutter out;
  StepList steps;
  add_steps(json, steps, out);
  if (steps.size() == 1) {
    out.cut = std::move(steps[0]);
  } else if (!steps.empty()) {
    out.cut = std::make_unique<Steps>(std::move(steps));
  }
  return out;
}

}  // namespace lockstep
