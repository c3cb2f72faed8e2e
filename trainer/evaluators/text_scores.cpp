#include "trainer/evaluators/text_scores.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace lockstep {
namespace {

using NgramCounts = std::map<std::string_view, std::int64_t>;

/// A text with one space between two words, where an n-gram is a part of it.
class SpacedWords {
 public:
  explicit SpacedWords(std::string_view text) {
    constexpr std::string_view kSpace = " \t\n\v\f\r";
    for (std::size_t at = 0; (at = text.find_first_not_of(kSpace, at)) != text.npos;) {
      const std::size_t end = std::min(text.find_first_of(kSpace, at), text.size());
      if (!places_.empty()) text_ += ' ';
      places_.emplace_back(text_.size(), text_.size() + end - at);
      text_ += text.substr(at, end - at);
      at = end;
    }
  }

  const std::string& text() const { return text_; }
  std::int64_t size() const { return static_cast<std::int64_t>(places_.size()); }
  /// Valid as long as this is.
  NgramCounts ngrams(std::size_t length) const {
    NgramCounts out;
    for (std::size_t i = 0; i + length <= places_.size(); ++i) {
      const std::size_t begin = places_[i].first;
      ++out[std::string_view(text_).substr(begin, places_[i + length - 1].second - begin)];
    }
    return out;
  }

 private:
  std::string text_;
  std::vector<std::pair<std::size_t, std::size_t>> places_;  ///< begin and end of each word
};

/// The number of n-grams that a reference has, too.
std::int64_t count_matches(const NgramCounts& ngrams, const std::vector<SpacedWords>& references,
                           std::size_t length) {
  NgramCounts most;
  for (const SpacedWords& reference : references)
    for (const auto& [ngram, count] : reference.ngrams(length))
      most[ngram] = std::max(most[ngram], count);
  std::int64_t out = 0;
  for (const auto& [ngram, count] : ngrams)
    if (const auto found = most.find(ngram); found != most.end())
      out += std::min(count, found->second);
  return out;
}

}  // namespace

void TextScores::add(std::string_view text, std::span<const std::string> references) {
  LS_CHECK(!references.empty(), "a text without references cannot be scored");
  const SpacedWords hypothesis(text);
  const std::vector<SpacedWords> known(references.begin(), references.end());
  ++texts;
  exact += std::ranges::find(known, hypothesis.text(), &SpacedWords::text) != known.end() ? 1 : 0;
  for (std::size_t n = 0; n < kMaxWords; ++n) {
    matches[n] += count_matches(hypothesis.ngrams(n + 1), known, n + 1);
    ngrams[n] += std::max<std::int64_t>(hypothesis.size() - static_cast<std::int64_t>(n), 1);
  }
  words += hypothesis.size();
  const auto distance = [&](const SpacedWords& reference) {
    return std::pair(std::abs(reference.size() - hypothesis.size()), reference.size());
  };
  reference_words += std::ranges::min(known, {}, distance).size();
}

TextScores& TextScores::operator+=(const TextScores& other) {
  texts += other.texts;
  exact += other.exact;
  for (std::size_t n = 0; n < kMaxWords; ++n) {
    matches[n] += other.matches[n];
    ngrams[n] += other.ngrams[n];
  }
  words += other.words;
  reference_words += other.reference_words;
  return *this;
}

double TextScores::bleu() const {
  double log_precision = 0;
  for (std::size_t n = 0; n < kMaxWords; ++n) {
    if (matches[n] == 0) return 0;
    log_precision += std::log(static_cast<double>(matches[n]) / static_cast<double>(ngrams[n]));
  }
  const double brevity =
      std::min(1 - static_cast<double>(reference_words) / static_cast<double>(words), 0.0);
  return std::exp(brevity + log_precision / kMaxWords);
}

double TextScores::exact_match() const {
  return texts == 0 ? 0 : static_cast<double>(exact) / static_cast<double>(texts);
}

std::string TextScores::to_bytes() const {
  static_assert(std::is_trivially_copyable_v<TextScores>);
  return {reinterpret_cast<const char*>(this), sizeof *this};
}

TextScores TextScores::from_bytes(std::string_view bytes) {
  TextScores out;
  LS_CHECK(bytes.size() == sizeof out, "scores of {} bytes", bytes.size());
  std::memcpy(&out, bytes.data(), sizeof out);
  return out;
}

}  // namespace lockstep
