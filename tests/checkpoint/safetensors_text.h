// safetensors files as bytes, composed by hand.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep::testing {

/// The length of `header`, `header`, and `data`.
inline std::string safetensors_bytes(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + data;
}

}  // namespace lockstep::testing
