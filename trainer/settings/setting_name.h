// What messages call the settings of a run. A run of a config has keys; a program that uses the
// library has members of the options that it passes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

enum class SettingsOf : std::uint8_t { kConfig, kProgram };

/// `key`: the path of a config key, "logging.interval", which is returned for a config. For a
/// program "TrainerOptions::logging.interval".
std::string setting_name(SettingsOf of, std::string_view key);

}  // namespace lockstep
