// A message between two simulated ranks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep {

struct SimulatedMessage {
  int from = 0;
  int to = 0;
  std::int64_t bytes = 0;             ///< at least 1
  const std::byte* source = nullptr;  ///< the memory that the sender gave
  std::byte* target = nullptr;        ///< and the receiver
};

}  // namespace lockstep
