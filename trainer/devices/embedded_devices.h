// The files of configs/devices, as the build put them into the program.
#pragma once

#include <span>
#include <string_view>

namespace lockstep {

struct EmbeddedDevice {
  std::string_view name;  ///< of the file, without extension
  std::string_view text;
};
std::span<const EmbeddedDevice> embedded_devices();

}  // namespace lockstep
