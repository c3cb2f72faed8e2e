// Real data that lies beside the project on some machines; tests that need it are skipped
// elsewhere.
#pragma once

#include <filesystem>
#include <string>

namespace lockstep {

inline std::string shared_data(const std::string& name) {
  return std::string(LOCKSTEP_SOURCE_DIR) + "/../shared/data/" + name;
}

}  // namespace lockstep

/// Skips the test unless the file is there.
#define REQUIRE_SHARED_DATA(name)                                   \
  if (!std::filesystem::exists(::lockstep::shared_data(name))) {    \
    GTEST_SKIP() << ::lockstep::shared_data(name) << " is missing"; \
  }                                                                 \
  static_assert(true)
