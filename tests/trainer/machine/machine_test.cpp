// What the machine and its control groups still have to give.
#include "trainer/machine/machine.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <limits>

#include "tests/fixtures/temporary_folder.h"

namespace lockstep {
namespace {

struct ControlGroups : testing::Test {
  void limit(const std::string& group, const std::string& max, const std::string& current) {
    std::filesystem::create_directories(folder.path(group));
    folder.write(group + "memory.max", max + "\n");
    folder.write(group + "memory.current", current + "\n");
  }
  std::uint64_t available(const std::string& own) {
    return available_in_groups(folder.path(""), folder.write("own", own));
  }

  TemporaryFolder folder;
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
};

TEST_F(ControlGroups, CachedFilesGiveWay) {
  limit("", "1000", "900");
  EXPECT_EQ(available("0::/\n"), 100U);
  folder.write("memory.stat",
               "anon 300\nfile 600\nactive_file 200\ninactive_file 350\n"
               "slab_reclaimable 50\nslab_unreclaimable 10\n");
  EXPECT_EQ(available("0::/\n"), 700U);
}

TEST_F(ControlGroups, TheTightestOfAllCounts) {
  EXPECT_EQ(available("0::/slurm/job\n"), kNone) << "none has a limit";
  limit("slurm/job/", "max", "10");
  EXPECT_EQ(available("0::/slurm/job\n"), kNone);
  limit("slurm/", "500", "100");
  EXPECT_EQ(available("1:cpu:/other\n0::/slurm/job\n"), 400U);
  limit("slurm/job/", "150", "200");
  EXPECT_EQ(available("0::/slurm/job\n"), 0U) << "above its limit, for a moment";
  EXPECT_EQ(available("0::/slurm\n"), 400U);
  EXPECT_EQ(available(""), kNone) << "only version 1";
}

TEST(Machine, AddressSpaceIsLimitedByUlimit) {
  EXPECT_GT(resident_memory(), 1 << 20);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 50;  // more than sanitizers take
  rlimit limited = before;
  limited.rlim_cur = kLimit;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limited), 0);
  const std::uint64_t left = addressable_memory().value_or(0);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_GT(left, 0U);
  EXPECT_LT(left, kLimit - (1 << 20)) << "what the process has counts";
  EXPECT_EQ(addressable_memory().has_value(), before.rlim_cur != RLIM_INFINITY);
}

}  // namespace
}  // namespace lockstep
