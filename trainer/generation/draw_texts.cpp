#include "trainer/generation/draw_texts.h"

#include <algorithm>
#include <span>

namespace lockstep {

std::vector<std::vector<std::int32_t>> draw_texts(Continuation& rows, const DrawOptions& options,
                                                  std::int64_t max_new_tokens,
                                                  std::int64_t vocab_size,
                                                  std::optional<std::int32_t> end,
                                                  std::int64_t first) {
  const auto count = static_cast<std::size_t>(rows.samples());
  std::vector<std::vector<std::int32_t>> out(count);
  std::vector<std::int32_t> next(count, 0);
  std::vector<bool> ended(count, false);
  const std::int64_t steps = std::min(max_new_tokens, rows.room());
  for (std::int64_t i = 0; i < steps; ++i) {
    const std::vector<float> logits = rows.next_logits();
    const std::size_t width = logits.size() / count;
    const std::size_t known = std::min(width, static_cast<std::size_t>(vocab_size));
    for (std::size_t row = 0; row < count; ++row) {
      next[row] = draw_token(std::span(logits).subspan(row * width, known), options,
                             static_cast<std::uint64_t>(first) + row,
                             static_cast<std::uint64_t>(rows.size()));
      ended[row] = ended[row] || end == next[row];
      if (!ended[row]) out[row].push_back(next[row]);
    }
    if (std::ranges::find(ended, false) == ended.end()) break;
    rows.append(next);
  }
  return out;
}

}  // namespace lockstep
