// Sequences continued by beam search, see beam_search.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trainer/generation/beam_search.h"
#include "trainer/generation/continuation.h"

namespace lockstep {

/// Each sample's num_beams best hypotheses, the best first. `rows` are samples x num_beams
/// sequences, of which each sample has num_beams in a row that begin alike: with the same prompt,
/// and what else its model is conditioned on. Rows are exchanged within a sample only.
///
/// At most `max_new_tokens` are generated, and no more than the model's maximum length has room
/// for: the search never forgets what it began with. `vocab_size`: the tokens; logits after them
/// are of a padded vocabulary, and have no probability.
///
/// Error kUsage if the prompt leaves no room, or there are fewer than two tokens; kNonFinite if a
/// logit is NaN or infinite.
std::vector<std::vector<Hypothesis>> search_beams(Continuation& rows, const BeamOptions& options,
                                                  std::int64_t max_new_tokens,
                                                  std::int64_t vocab_size,
                                                  std::optional<std::int32_t> end);

}  // namespace lockstep
