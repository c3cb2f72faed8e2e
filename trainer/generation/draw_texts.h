// Sequences continued by drawing tokens until each has ended.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trainer/generation/continuation.h"
#include "trainer/generation/draw.h"

namespace lockstep {

/// The new tokens of each row, without the end: at most `max_new_tokens`, and no more than the
/// model's maximum length has room for. `first`: the number of the first row among all that are
/// drawn with these options; rows of different numbers draw other tokens. `vocab_size`, `end`: as
/// in search_beams().
std::vector<std::vector<std::int32_t>> draw_texts(Continuation& rows, const DrawOptions& options,
                                                  std::int64_t max_new_tokens,
                                                  std::int64_t vocab_size,
                                                  std::optional<std::int32_t> end,
                                                  std::int64_t first);

}  // namespace lockstep
