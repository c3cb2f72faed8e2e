// Whether values are the same to the bit, which equal numbers need not be.
#pragma once

#include <algorithm>
#include <vector>

#include "core/base/buffer.h"

namespace lockstep {

inline bool same_bits(const HostTensor& a, const HostTensor& b) {
  return std::ranges::equal(a.bytes(), b.bytes());
}

inline bool same_bits(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
  return std::ranges::equal(
      a, b, [](const HostTensor& x, const HostTensor& y) { return same_bits(x, y); });
}

}  // namespace lockstep
