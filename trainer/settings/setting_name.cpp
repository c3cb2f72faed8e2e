#include "trainer/settings/setting_name.h"

#include <algorithm>
#include <array>
#include <utility>

namespace lockstep {
namespace {

using KeyAndName = std::pair<std::string_view, std::string_view>;

/// Keys that are not members of TrainerOptions of the same path.
constexpr std::array<KeyAndName, 6> kNamedOtherwise = {{
    {"run.name", "TrainerOptions::run"},
    {"training.global_batch_size", "DataLoaderOptions::global_batch_size"},
    {"training.micro_batch_size", "DataLoaderOptions::micro_batch_size"},
    {"training.deterministic", "SessionOptions::deterministic"},
    {"device.memory_gb", "SessionOptions::memory_gb"},
    {"optimizer.learning_rate", "the optimizer's learning_rate"},
}};

}  // namespace

std::string setting_name(SettingsOf of, std::string_view key) {
  if (of == SettingsOf::kConfig) return std::string(key);
  const auto* found = std::ranges::find(kNamedOtherwise, key, &KeyAndName::first);
  if (found != kNamedOtherwise.end()) return std::string(found->second);
  return "TrainerOptions::" + std::string(key);
}

std::string resume_setting(SettingsOf of, std::string_view from) {
  if (of == SettingsOf::kProgram)
    return setting_name(of, "checkpoint.resume") + ": " + std::string(from);
  return from == "auto" ? "--resume" : "--resume=" + std::string(from);
}

}  // namespace lockstep
