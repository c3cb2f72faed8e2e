// The identifiers that distinguish artifacts of other builds and other machines.
#include "core/base/build_id.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/base/cpu_model.h"
#include "tests/fixtures/file_contents.h"

namespace lockstep {
namespace {

TEST(BuildId, IsTheSameAllTheTimeAndNotNothing) {
  EXPECT_EQ(build_id(), build_id());
  EXPECT_NE(build_id(), hash128("", 0));
}

constexpr std::size_t kBlock = 64 << 10;

TEST(BuildId, CoversTheWholeExecutableAndEachLibraryThatItIsLinkedTo) {
  const std::vector<BuildPart> parts = build_parts();
  ASSERT_GT(parts.size(), 2U);
  const std::string content = contents_of("/proc/self/exe");
  EXPECT_EQ(parts[0].name, "lockstep");
  Hasher blocks;
  for (std::size_t at = 0; at < content.size(); at += kBlock)
    blocks.value(hash128(&content[at], std::min(kBlock, content.size() - at)));
  EXPECT_EQ(parts[0].id, blocks.finish());
  std::set<std::string> names;
  std::set<Hash128> ids;
  for (const BuildPart& part : parts) {
    names.insert(part.name);
    ids.insert(part.id);
  }
  EXPECT_TRUE(names.contains("libc.so.6"));
  EXPECT_EQ(names.size(), parts.size());
  EXPECT_EQ(ids.size(), parts.size());
}

TEST(CpuModel, IsTheSameAllTheTimeAndNotNothing) {
  EXPECT_EQ(cpu_model(), cpu_model());
  EXPECT_NE(cpu_model(), hash128("", 0));
}

}  // namespace
}  // namespace lockstep
