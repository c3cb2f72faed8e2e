// Every config of tests/errors/config must be refused with exactly the message in the .txt beside
// it.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "tests/fixtures/error_of.h"
#include "tests/fixtures/file_contents.h"
#include "trainer/config/load.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

std::set<fs::path> refused_configs() {
  std::set<fs::path> out;
  for (const auto& entry : fs::directory_iterator(LOCKSTEP_SOURCE_DIR "/tests/errors/config")) {
    if (entry.path().extension() == ".yaml") out.insert(entry.path());
  }
  return out;
}

TEST(ConfigErrors, EveryBadConfigIsRefusedWithItsMessage) {
  const std::set<fs::path> configs = refused_configs();
  ASSERT_GE(configs.size(), 50U);
  for (const fs::path& path : configs) {
    SCOPED_TRACE(path.filename());
    const std::string expected = contents_of(fs::path(path).replace_extension(".txt"));
    const auto parse = [&] {
      parse_config(contents_of(path), path.filename().string(), built_in());
    };
    EXPECT_EQ(usage_error(parse) + "\n", expected);
  }
}

}  // namespace
}  // namespace lockstep
