// Draws a token by its logits.
#pragma once

#include <cstdint>
#include <span>

namespace lockstep {

struct DrawOptions {
  double temperature = 1.0;  ///< divides the logits; 0: the likeliest token
  std::int64_t top_k = 0;    ///< draws among this many of the likeliest; 0: all
  double top_p = 1.0;        ///< of these, the smallest set whose total probability reaches it
  std::uint64_t seed = 0;
};

/// A token drawn from softmax(logits / temperature) over those allowed; of equal logits the lower
/// token comes first. A function of seed, sample and position, the number of tokens before it.
std::int32_t draw_token(std::span<const float> logits, const DrawOptions& options,
                        std::uint64_t sample, std::uint64_t position);

}  // namespace lockstep
