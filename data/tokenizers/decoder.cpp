#include "data/tokenizers/decoder.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "data/files/utf8.h"
#include "data/tokenizers/byte_level.h"
#include "data/tokenizers/growth.h"
#include "data/tokenizers/replace_pattern.h"

namespace lockstep {
namespace {

using Next = std::unique_ptr<PartSink>;

// Each step calls the next one, so that all of them use the stack together.
constexpr std::size_t kMaxSteps = 100;

/// Forwards its input.
class Step : public PartSink {
 public:
  explicit Step(Next next) : next_(std::move(next)) {}
  void text(std::string_view piece) override { next_->text(piece); }
  void end_part() override { next_->end_part(); }
  void finish() override { next_->finish(); }

 protected:
  void hand_on(std::string_view part) {
    next_->text(part);
    next_->end_part();
  }
  PartSink& next() { return *next_; }

 private:
  Next next_;
};

/// Buffers each part until it ends.
class WholeParts : public Step {
 public:
  using Step::Step;
  void text(std::string_view piece) final { part_ += piece; }
  void end_part() final { part(std::exchange(part_, {})); }

 protected:
  virtual void part(std::string text) = 0;

 private:
  std::string part_;
};

/// A decoder of one step, which is constructed from its settings.
template <class S>
class Single final : public Decoder {
 public:
  explicit Single(const JsonPlace& json) : settings_(json) {}
  Next begin(Next next) const override { return std::make_unique<S>(settings_, std::move(next)); }

 private:
  typename S::Settings settings_;
};

/// Length of the longest proper prefix of `begun` at the end of `text`.
std::size_t begun_at_end(std::string_view text, std::string_view begun) {
  std::size_t size = std::min(text.size(), begun.size() - 1);
  while (size > 0 && !text.ends_with(begun.substr(0, size))) --size;
  return size;
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

/// Forwards parts after it replaces a non-empty text in them.
class ReplaceText : public Step {
 public:
  ReplaceText(std::string_view from, std::string_view to, Next next)
      : Step(std::move(next)), from_(from), to_(to) {}

  void text(std::string_view piece) override {
    held_ += piece;
    replace_all_but(begun_at_end(after_last_match(), from_));
  }
  void end_part() override {
    replace_all_but(0);
    next().end_part();
  }

 protected:
  void replace_by(std::string_view to) { to_ = to; }

 private:
  std::string_view after_last_match() const {
    std::string_view rest = held_;
    for (std::size_t found; (found = rest.find(from_)) != rest.npos;)
      rest.remove_prefix(found + from_.size());
    return rest;
  }
  void replace_all_but(std::size_t begun) {
    std::string ready = held_.substr(0, held_.size() - begun);
    held_.erase(0, ready.size());
    replace_all(ready, from_, to_);
    next().text(ready);
  }

  std::string_view from_;
  std::string_view to_;
  std::string held_;
};

/// Puts a space between parts.
class Spaced final : public Step {
 public:
  explicit Spaced(Next next) : Step(std::move(next)) {}
  void text(std::string_view piece) override {
    separate();
    next().text(piece);
  }
  void end_part() override {
    separate();
    begun_ = false;
    first_ = false;
    next().end_part();
  }

 private:
  void separate() {
    if (!begun_ && !first_) next().text(" ");
    begun_ = true;
  }
  bool first_ = true;
  bool begun_ = false;
};

class SpacedDecoder final : public Decoder {
 public:
  Next begin(Next next) const override { return std::make_unique<Spaced>(std::move(next)); }
};

/// Makes one part of all.
class ByteLevelDecoder final : public WholeParts {
 public:
  struct Settings {
    explicit Settings(const JsonPlace& json) {
      json.allow_only({"add_prefix_space", "trim_offsets", "use_regex"});
    }
  };
  ByteLevelDecoder(const Settings&, Next next) : WholeParts(std::move(next)) {}
  void finish() override {
    next().end_part();
    next().finish();
  }

 private:
  void part(std::string text) override { next().text(bytes_of_byte_level(text).value_or(text)); }
};

class WordPiece final : public WholeParts {
 public:
  struct Settings {
    explicit Settings(const JsonPlace& json)
        : prefix(json.string_or("prefix", "##")), cleanup(json.boolean_or("cleanup", true)) {
      json.allow_only({"prefix", "cleanup"});
    }
    std::string prefix;
    bool cleanup;
  };
  WordPiece(const Settings& settings, Next next)
      : WholeParts(std::move(next)), settings_(settings) {}

 private:
  void part(std::string text) override {
    if (!first_ && text.starts_with(settings_.prefix)) {
      text.erase(0, settings_.prefix.size());
    } else if (!first_) {
      text.insert(0, 1, ' ');
    }
    first_ = false;
    if (settings_.cleanup) clean_up(text);
    hand_on(text);
  }

  /// Joins punctuation to the word before it, as in English.
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

  const Settings& settings_;
  bool first_ = true;
};

class MetaspaceDecoder final : public ReplaceText {
 public:
  struct Settings {
    explicit Settings(const JsonPlace& json)
        : space(inserted_text(json.at("replacement"))),
          drops_first(json.string_or("prepend_scheme", "always") != "never" &&
                      json.boolean_or("add_prefix_space", true)) {
      json.allow_only({"replacement", "prepend_scheme", "add_prefix_space", "split", "str_rep"});
      if (count_characters(space) != 1) json.at("replacement").refuse("not one character");
    }
    std::string space;
    bool drops_first;
  };
  MetaspaceDecoder(const Settings& settings, Next next)
      : ReplaceText(settings.space, settings.drops_first ? "" : " ", std::move(next)) {}
  void end_part() override {
    ReplaceText::end_part();
    replace_by(" ");
  }
};

class ByteFallback final : public WholeParts {
 public:
  struct Settings {
    explicit Settings(const JsonPlace& json) { json.allow_only({}); }
  };
  ByteFallback(const Settings&, Next next) : WholeParts(std::move(next)) {}
  void finish() override {
    end_run();
    next().finish();
  }

 private:
  void part(std::string text) override {
    if (const auto byte = byte_of(text)) return add(*byte);
    end_run();
    hand_on(text);
  }

  void add(char byte) {
    run_ += byte;
    valid_ = end_of_utf8(run_, valid_);
    if (valid_ < run_.size() && !begins_character(std::string_view(run_).substr(valid_)))
      is_text_ = false;
    if (!is_text_) replace_run();
  }
  void end_run() {
    if (valid_ < run_.size()) {
      replace_run();
    } else if (!run_.empty()) {
      hand_on(run_);
    }
    run_.clear();
    valid_ = 0;
    is_text_ = true;
  }
  /// The run can no longer become valid UTF-8.
  void replace_run() {
    for (std::size_t i = 0; i < run_.size(); ++i) hand_on("\uFFFD");
    run_.clear();
    valid_ = 0;
  }

  /// Of "<0xAB>".
  static std::optional<char> byte_of(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
    unsigned value = 0;
    const char* end = token.data() + 5;
    const auto [at, error] = std::from_chars(token.data() + 3, end, value, 16);
    if (error != std::errc() || at != end) return std::nullopt;
    return static_cast<char>(static_cast<unsigned char>(value));
  }

  std::string run_;        ///< bytes of consecutive byte tokens
  std::size_t valid_ = 0;  ///< number of them that are whole characters
  bool is_text_ = true;    ///< or can still become it
};

/// A word's end becomes a space, except in the last part, where it becomes nothing.
class BpeDecoder final : public Step {
 public:
  struct Settings {
    explicit Settings(const JsonPlace& json) : suffix(json.string_or("suffix", "</w>")) {
      json.allow_only({"suffix"});
    }
    std::string suffix;
  };
  BpeDecoder(const Settings& settings, Next next)
      : Step(std::move(next)), suffix_(settings.suffix) {}

  void text(std::string_view piece) override {
    end_word(" ");
    if (suffix_.empty()) return next().text(piece);
    held_ += piece;
    const std::size_t found = held_.find(suffix_);
    const std::size_t ready =
        found != held_.npos ? found : held_.size() - begun_at_end(held_, suffix_);
    next().text(std::string_view(held_).substr(0, ready));
    held_.erase(0, ready);
  }
  void end_part() override {
    end_word(" ");
    ended_ = true;
  }
  void finish() override {
    end_word("");
    next().finish();
  }

 private:
  /// Ends the word of the previous part, which is the last one if `space` is empty.
  void end_word(std::string_view space) {
    if (!ended_) return;
    ended_ = false;
    replace_all(held_, suffix_, space);
    hand_on(std::exchange(held_, {}));
  }

  const std::string& suffix_;
  std::string held_;    ///< from the first suffix on
  bool ended_ = false;  ///< the part is complete, but may or may not be the last one
};

/// Replaces the matches of an expression.
class ReplaceMatches final : public WholeParts {
 public:
  ReplaceMatches(const ReplacePattern& pattern, Next next)
      : WholeParts(std::move(next)), pattern_(pattern) {}

 private:
  void part(std::string text) override {
    hand_on(end_of_utf8(text, 0) == text.size() ? pattern_.apply(text) : text);
  }
  const ReplacePattern& pattern_;
};

class ReplaceDecoder final : public Decoder {
 public:
  explicit ReplaceDecoder(const JsonPlace& json) : pattern_(json) {}
  Next begin(Next next) const override {
    if (pattern_.literal().empty())
      return std::make_unique<ReplaceMatches>(pattern_, std::move(next));
    return std::make_unique<ReplaceText>(pattern_.literal(), pattern_.content(), std::move(next));
  }

 private:
  ReplacePattern pattern_;
};

/// Up to `start` times a character at the beginning of each part, and `stop` times at the end.
class StripDecoder final : public Step {
 public:
  struct Settings {
    explicit Settings(const JsonPlace& json)
        : content(inserted_text(json.at("content"))),
          start(json.at("start").number()),
          stop(json.at("stop").number()) {
      json.allow_only({"content", "start", "stop"});
      if (count_characters(content) != 1) json.refuse("'content' is not one character");
    }
    std::string content;
    std::int32_t start;
    std::int32_t stop;
  };
  StripDecoder(const Settings& settings, Next next)
      : Step(std::move(next)), settings_(settings), start_(settings.start) {}

  void text(std::string_view piece) override {
    held_ += piece;
    const std::string& content = settings_.content;
    std::size_t begin = 0;
    while (start_ > 0 && held_.compare(begin, content.size(), content) == 0) {
      begin += content.size();
      --start_;
    }
    held_.erase(0, begin);
    if (start_ > 0 && content.starts_with(held_)) return;  // may become stripped text
    start_ = 0;
    const std::size_t ready = held_.size() - undecided();
    next().text(std::string_view(held_).substr(0, ready));
    held_.erase(0, ready);
  }

  void end_part() override {
    std::string_view rest = held_;
    for (std::int32_t i = 0; i < settings_.stop && rest.ends_with(settings_.content); ++i)
      rest.remove_suffix(settings_.content.size());
    hand_on(rest);
    held_.clear();
    start_ = settings_.start;
  }

 private:
  /// Length at the end that would be stripped if the part ended now.
  std::size_t undecided() const {
    if (settings_.stop == 0) return 0;
    std::string_view rest = held_;
    rest.remove_suffix(begun_at_end(rest, settings_.content));
    for (std::int32_t i = 0; i < settings_.stop && rest.ends_with(settings_.content); ++i)
      rest.remove_suffix(settings_.content.size());
    return held_.size() - rest.size();
  }

  const Settings& settings_;
  std::int32_t start_;  ///< number that may still be stripped
  std::string held_;
};

/// Joins all parts into one.
class Fuse final : public Step {
 public:
  struct Settings {
    explicit Settings(const JsonPlace& json) { json.allow_only({}); }
  };
  Fuse(const Settings&, Next next) : Step(std::move(next)) {}
  void end_part() override {}
  void finish() override {
    next().end_part();
    next().finish();
  }
};

/// Counts its input, and compares the count with the input of the first step.
class Measured final : public Step {
 public:
  Measured(std::shared_ptr<std::size_t> first, bool is_first, Next next)
      : Step(std::move(next)), first_(std::move(first)), is_first_(is_first) {}
  void text(std::string_view piece) override {
    size_ += piece.size();
    if (is_first_) *first_ = size_;
    check_growth(*first_, size_);
    next().text(piece);
  }

 private:
  std::shared_ptr<std::size_t> first_;
  bool is_first_;
  std::size_t size_ = 0;
};

class SequenceDecoder final : public Decoder {
 public:
  explicit SequenceDecoder(const JsonPlace& json) {
    json.allow_only({"decoders"});
    for (const JsonPlace& one : json.at("decoders").elements()) {
      steps_.push_back(make_decoder(one));
      count_ += steps_.back()->steps();
      if (count_ > kMaxSteps) one.refuse(fmt::format("more than {} decoders", kMaxSteps));
    }
  }
  Next begin(Next next) const override {
    const auto size = std::make_shared<std::size_t>(0);
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step)
      next = (*step)->begin(std::make_unique<Measured>(size, false, std::move(next)));
    return std::make_unique<Measured>(size, true, std::move(next));
  }
  std::size_t steps() const override { return count_; }

 private:
  std::size_t count_ = 0;
  std::vector<std::unique_ptr<const Decoder>> steps_;
};

}  // namespace

std::unique_ptr<const Decoder> make_decoder(const JsonPlace& json) {
  const std::string type = json.type();
  if (type == "ByteLevel") return std::make_unique<Single<ByteLevelDecoder>>(json);
  if (type == "WordPiece") return std::make_unique<Single<WordPiece>>(json);
  if (type == "Metaspace") return std::make_unique<Single<MetaspaceDecoder>>(json);
  if (type == "ByteFallback") return std::make_unique<Single<ByteFallback>>(json);
  if (type == "BPEDecoder") return std::make_unique<Single<BpeDecoder>>(json);
  if (type == "Replace") return std::make_unique<ReplaceDecoder>(json);
  if (type == "Strip") return std::make_unique<Single<StripDecoder>>(json);
  if (type == "Fuse") return std::make_unique<Single<Fuse>>(json);
  if (type == "Sequence") return std::make_unique<SequenceDecoder>(json);
  json.refuse_type("decoder");
}

std::unique_ptr<const Decoder> make_spaced_decoder() {
  return std::make_unique<SpacedDecoder>();
}

}  // namespace lockstep
