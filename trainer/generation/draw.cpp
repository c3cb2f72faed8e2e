#include "trainer/generation/draw.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/base/rng.h"

namespace lockstep {
namespace {

/// Tokens by decreasing logit, each computed on request: a draw needs only a few of a vocabulary.
class ByLikelihood {
 public:
  explicit ByLikelihood(std::span<const float> logits) : behind_{logits}, heap_(logits.size()) {
    std::iota(heap_.begin(), heap_.end(), 0);
    std::make_heap(heap_.begin(), heap_.end(), behind_);
  }
  std::int32_t next() {
    std::pop_heap(heap_.begin(), heap_.end(), behind_);
    const std::int32_t token = heap_.back();
    heap_.pop_back();
    return token;
  }
  bool empty() const { return heap_.empty(); }

 private:
  /// Whether a token comes after another.
  struct Behind {
    std::span<const float> logits;
    bool operator()(std::int32_t a, std::int32_t b) const {
      const float x = logits[static_cast<std::size_t>(a)];
      const float y = logits[static_cast<std::size_t>(b)];
      return x != y ? x < y : a > b;
    }
  };

  Behind behind_;
  std::vector<std::int32_t> heap_;
};

/// The total probability to which top_p and the draw are relative.
double total_of(std::span<const double> weights) {
  return std::accumulate(weights.begin(), weights.end(), 0.0);
}

}  // namespace

std::int32_t draw_token(std::span<const float> logits, const DrawOptions& options,
                        std::uint64_t sample, std::uint64_t position) {
  const auto largest = std::max_element(logits.begin(), logits.end());
  if (options.temperature == 0) return static_cast<std::int32_t>(largest - logits.begin());
  const auto weigh = [&](float logit) {
    return std::exp((static_cast<double>(logit) - *largest) / options.temperature);
  };
  const auto all = static_cast<std::int64_t>(logits.size());
  const std::int64_t max_tokens = options.top_k > 0 ? std::min(options.top_k, all) : all;
  ByLikelihood order(logits);
  std::vector<std::int32_t> tokens;
  std::vector<double> weights;
  const auto take = [&] {
    tokens.push_back(order.next());
    weights.push_back(weigh(logits[static_cast<std::size_t>(tokens.back())]));
  };
  double total = 0;
  if (max_tokens < all) {
    while (static_cast<std::int64_t>(tokens.size()) < max_tokens) take();
    total = total_of(weights);
  } else {
    for (const float logit : logits) total += weigh(logit);
  }
  if (options.top_p < 1) {
    double kept = 0;
    std::size_t count = 0;
    while (kept < options.top_p * total && static_cast<std::int64_t>(count) < max_tokens) {
      if (count == tokens.size()) take();
      kept += weights[count++];
    }
    tokens.resize(count);
    weights.resize(count);
    total = kept;
  }
  const bool is_open = options.top_p >= 1 && max_tokens == all;  // more tokens may be requested
  const RngKey key{.seed = options.seed, .stream = rng_stream("sample"), .step = position};
  double left = static_cast<double>(random_word(key, sample)) * 0x1.0p-32 * total;
  for (std::size_t i = 0;; ++i) {
    if (i == tokens.size()) {
      if (!is_open || order.empty()) return tokens.back();
      take();
    }
    left -= weights[i];
    if (left < 0) return tokens[i];
  }
}

}  // namespace lockstep
