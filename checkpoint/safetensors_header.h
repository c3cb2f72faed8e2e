// The JSON header of a safetensors file, on its own: bytes in, what they say out.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/safetensors.h"

namespace lockstep {

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> tensors;  ///< in the order of their bytes; offsets from the data's
  std::map<std::string, std::string> metadata;
};

/// Everything but the place of the data is checked: `data_bytes` is what the file has behind the
/// header. Error kCheckpoint, the problem alone.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes);

/// Compact JSON, padded with blanks to a multiple of 8 bytes; in the order of `tensors`.
std::string safetensors_header_text(const SafetensorsHeader& header);

}  // namespace lockstep
