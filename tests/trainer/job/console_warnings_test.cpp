// What other ranks warn of is said by rank 0, once.
#include "trainer/job/console_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/ranks/on_ranks.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using Warnings = std::vector<std::vector<std::string>>;  ///< by rank

/// What the log of each rank says after its exchange.
Warnings exchanged(const Warnings& warnings) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const auto folder = std::filesystem::path(testing::TempDir()) /
                      fmt::format("ls_warnings_{}_{}", test->name(), getpid());
  std::filesystem::create_directories(folder);
  Warnings out(warnings.size());
  on_ranks(static_cast<int>(warnings.size()), [&](Communicator& communicator) {
    const auto rank = static_cast<std::size_t>(communicator.rank());
    const std::string file = (folder / std::to_string(rank)).string();
    {
      Log log({.console = false, .file = file, .debug = 0});
      ConsoleWarnings console(communicator, log);
      for (const std::string& warning : warnings[rank]) console.add(warning);
      EXPECT_EQ(console.announce(), rank > 0 && !warnings[rank].empty());
      EXPECT_FALSE(console.announce()) << "once";
      console.exchange();
      console.exchange();  // of what came since
      EXPECT_FALSE(console.announce());
      console.add("late");
      EXPECT_EQ(console.announce(), rank > 0 && communicator.size() > 1);
    }
    std::ifstream text(file);
    for (std::string line; std::getline(text, line);)
      out[rank].push_back(line.substr(line.find("warning: ") + 9));
  });
  std::filesystem::remove_all(folder);
  return out;
}

TEST(ConsoleWarnings, OfNobodySayNothing) {
  EXPECT_THAT(exchanged({{}, {}, {}}), ElementsAre(IsEmpty(), IsEmpty(), IsEmpty()));
  EXPECT_THAT(exchanged({{}}), ElementsAre(IsEmpty()));
}

TEST(ConsoleWarnings, OfOtherRanksAppearOnRankZeroWithTheRanks) {
  EXPECT_THAT(exchanged({{}, {"a", "b"}, {"b"}, {"b", "c \xff"}}),
              ElementsAre(ElementsAre("rank 1: a", "ranks 1-3: b", "rank 3: c \xef\xbf\xbd"),
                          IsEmpty(), IsEmpty(), IsEmpty()));
}

TEST(ConsoleWarnings, ThatRankZeroSawAreNotRepeated) {
  EXPECT_THAT(exchanged({{"a"}, {"a", "b"}}), ElementsAre(ElementsAre("rank 1: b"), IsEmpty()));
  EXPECT_THAT(exchanged({{"a"}}), ElementsAre(IsEmpty()));
}

TEST(ConsoleWarnings, AreNotMoreThanOneCanRead) {
  std::vector<std::string> many;
  for (int i = 0; i < 100; ++i) many.push_back(std::to_string(i));
  EXPECT_THAT(exchanged({{}, many}), ElementsAre(SizeIs(ConsoleWarnings::kMaxKept), IsEmpty()));
}

}  // namespace
}  // namespace lockstep
