// Whether values have the same bits; equal numbers may have different ones.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "core/base/buffer.h"

namespace lockstep {

inline bool same_bits(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

inline bool same_bits(const HostTensor& a, const HostTensor& b) {
  return same_bits(a.bytes(), b.bytes());
}

inline bool same_bits(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
  return std::ranges::equal(
      a, b, [](const HostTensor& x, const HostTensor& y) { return same_bits(x, y); });
}

}  // namespace lockstep
