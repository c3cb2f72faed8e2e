#include "core/base/cores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/fixtures/temporary_folder.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::Eq;
using testing::Optional;

void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

TEST(Cores, AreThoseThatTheProcessMayRunOn) {
  const std::vector<int> before = usable_processors();
  EXPECT_EQ(usable_cores(), static_cast<int>(before.size()));
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(before.back()), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    EXPECT_THAT(usable_processors(), ElementsAre(before.back()));
    EXPECT_EQ(runnable_threads(), 1);
  }).join();
}

TEST(Cores, QuotaIsTheLeastOfAllGroups) {
  const TemporaryFolder folder;
  const std::string root = folder.path();
  std::filesystem::create_directories(root + "/pod/box");
  write_text(root + "/own", "1:name=systemd:/x\n0::/pod/box\n");
  const std::vector<std::string> groups = control_groups(root, root + "/own");
  EXPECT_THAT(groups, ElementsAre(root + "/pod/box", root + "/pod", root + "/"));
  EXPECT_EQ(core_quota(groups), std::nullopt) << "no limits";
  write_text(root + "/pod/box/cpu.max", "max 100000\n");
  EXPECT_EQ(core_quota(groups), std::nullopt);
  write_text(root + "/pod/cpu.max", "150000 100000\n");
  EXPECT_THAT(core_quota(groups), Optional(Eq(1.5)));
  write_text(root + "/pod/box/cpu.max", "400000 100000\n");
  EXPECT_THAT(core_quota(groups), Optional(Eq(1.5)));
  write_text(root + "/pod/cpu.max", "damaged");
  EXPECT_THAT(core_quota(groups), Optional(Eq(4)));
}

TEST(Cores, AProcessOutsideOfGroupsIsInTheRoot) {
  EXPECT_THAT(control_groups("/a", "/nowhere"), ElementsAre("/a/"));
}

}  // namespace
}  // namespace lockstep
