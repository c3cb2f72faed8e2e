// The JSON header of a safetensors file: parses its bytes, independent of the file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/safetensors.h"

namespace lockstep {

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> tensors;  ///< in the order of their bytes; offsets within the data
  std::map<std::string, std::string> metadata;
};

/// Checks everything except the place of the data; `data_bytes` is the number of bytes in the file
/// after the header. Error kCheckpoint with only the problem as message.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes);

/// Compact JSON, padded with blanks to a multiple of 8 bytes; in the order of `tensors`.
std::string safetensors_header_text(const SafetensorsHeader& header);

}  // namespace lockstep
