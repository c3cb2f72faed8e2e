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

/// How one asks that a run go on, from the checkpoint `from` or from the newest ("auto"):
/// "--resume=PATH", "--resume". For a program "TrainerOptions::checkpoint.resume: PATH".
std::string resume_setting(SettingsOf of, std::string_view from = "auto");

}  // namespace lockstep
