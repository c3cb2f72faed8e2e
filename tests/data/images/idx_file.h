// Bytes of IDX files for tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

/// The header of an IDX file of u8.
inline std::string idx_header(const std::vector<std::uint32_t>& sizes) {
  std::string out = {0, 0, 8, static_cast<char>(sizes.size())};
  for (const std::uint32_t size : sizes)
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(size >> shift & 0xFF);
  return out;
}

/// A whole file, all of whose elements have this value.
inline std::string idx_file(const std::vector<std::uint32_t>& sizes, char value = 0) {
  std::size_t elements = 1;
  for (const std::uint32_t size : sizes) elements *= size;
  return idx_header(sizes) + std::string(elements, value);
}

}  // namespace lockstep
