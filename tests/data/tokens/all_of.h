// A whole stream of tokens.
#pragma once

#include <cstdint>
#include <vector>

#include "data/tokens/token_stream.h"

namespace lockstep {

inline std::vector<std::int32_t> all_of(const TokenStream& stream) {
  std::vector<std::int32_t> out(static_cast<std::size_t>(stream.size()));
  stream.read(0, out);
  return out;
}

}  // namespace lockstep
