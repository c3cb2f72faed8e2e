#include "core/base/settings.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "core/base/error.h"

namespace lockstep {
namespace {

std::optional<int> read_int(const char* name, int min, int max) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  int value = 0;
  const char* end = text + std::strlen(text);
  const auto result = std::from_chars(text, end, value);
  LS_USER_CHECK(result.ec == std::errc{} && result.ptr == end && value >= min && value <= max,
                "environment variable {}='{}' must be an integer from {} to {}", name, text, min,
                max);
  return value;
}

}  // namespace

Settings settings_from_environment() {
  Settings out;
  out.debug = read_int("LOCKSTEP_DEBUG", 0, 5).value_or(0);
  constexpr int kMaxRanks = 1 << 20;
  if (const auto size = read_int("OMPI_COMM_WORLD_SIZE", 1, kMaxRanks)) {
    out.world_size = *size;
    out.world_rank = read_int("OMPI_COMM_WORLD_RANK", 0, kMaxRanks).value_or(0);
    out.under_launcher = true;
  }
  return out;
}

}  // namespace lockstep
