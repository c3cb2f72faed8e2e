// Sequences continued by beam search, see beam_search.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trainer/generation/beam_search.h"
#include "trainer/generation/continuation.h"

namespace lockstep {

/// The length of a continuation for a search: what the prompt and the new tokens take, rounded up
/// so that few programs serve all searches, and at most `context`, the model's maximum length. The
/// whole cache is copied when beams change places, so it should have no room that is not needed.
std::int64_t search_length(std::int64_t context, std::int64_t prompt, std::int64_t max_new_tokens);

/// Each sample's num_beams best hypotheses, the best first. `rows` are samples x num_beams
/// sequences, of which each sample has num_beams in a row that begin alike: with the same prompt,
/// and what else its model is conditioned on. Rows are exchanged within a sample only.
///
/// At most `max_new_tokens` are generated, and no more than the continuation's length has room for:
/// the search never forgets what it began with. `vocab_size`: the tokens; logits after them
/// are of a padded vocabulary, and have no probability.
///
/// Error kUsage if the prompt leaves no room, or there are fewer than two tokens; kNonFinite if a
/// logit is NaN or +infinity.
std::vector<std::vector<Hypothesis>> search_beams(Continuation& rows, const BeamOptions& options,
                                                  std::int64_t max_new_tokens,
                                                  std::int64_t vocab_size,
                                                  std::optional<std::int32_t> end);

}  // namespace lockstep
