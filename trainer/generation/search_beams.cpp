#include "trainer/generation/search_beams.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/base/error.h"

namespace lockstep {
namespace {

/// Appends log_softmax(logits).
void append_log_softmax(std::span<const float> logits, std::vector<float>& to) {
  const float largest = *std::ranges::max_element(logits);
  double total = 0;
  for (const float logit : logits) total += std::exp(logit - largest);
  if (!std::isfinite(total)) raise(ErrorKind::kNonFinite, "a logit of the model is not finite");
  const auto log_total = static_cast<float>(std::log(total));
  for (const float logit : logits) to.push_back(logit - largest - log_total);
}

}  // namespace

std::int64_t search_length(std::int64_t context, std::int64_t prompt, std::int64_t max_new_tokens) {
  constexpr std::int64_t kStep = 64;
  return std::min((prompt + max_new_tokens + kStep - 1) / kStep * kStep, context);
}

std::vector<std::vector<Hypothesis>> search_beams(Continuation& rows, const BeamOptions& options,
                                                  std::int64_t max_new_tokens,
                                                  std::int64_t vocab_size,
                                                  std::optional<std::int32_t> end) {
  LS_CHECK(rows.samples() % options.num_beams == 0, "{} rows for {} beams", rows.samples(),
           options.num_beams);
  LS_USER_CHECK(max_new_tokens == 0 || rows.room() > 0,
                "the prompt has {} tokens, and the model can see {}: there is no room for beam "
                "search; shorten the prompt, or draw (--num-beams 1), which forgets its beginning",
                rows.size(), rows.size() + rows.room());
  LS_USER_CHECK(vocab_size >= 2, "beam search needs two tokens to choose from; there is {}",
                vocab_size);
  BeamSearch search(rows.samples() / options.num_beams, options, end);
  const std::int64_t steps = std::min(max_new_tokens, rows.room());
  std::vector<float> log_probs;
  for (std::int64_t i = 0; i < steps && !search.done(); ++i) {
    const std::vector<float> logits = rows.next_logits();
    const std::size_t width = logits.size() / static_cast<std::size_t>(rows.samples());
    const std::size_t known = std::min(width, static_cast<std::size_t>(vocab_size));
    log_probs.clear();
    for (std::size_t row = 0; row < logits.size(); row += width)
      append_log_softmax(std::span(logits).subspan(row, known), log_probs);
    const BeamSearch::Step step = search.advance(log_probs);
    rows.reorder(step.rows);
    rows.append(step.tokens);
  }
  return search.finish();
}

}  // namespace lockstep
