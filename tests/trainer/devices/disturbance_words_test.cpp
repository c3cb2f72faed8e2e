#include "trainer/devices/disturbance_words.h"

#include <gtest/gtest.h>

#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

std::string problem(const std::string& entry) {
  const std::vector<std::string> entries = {entry};
  return usage_error([&] { parse_disturbances(entries, 1, 4); });
}

TEST(DisturbanceWords, NameRanksAndJitter) {
  const std::vector<std::string> entries = {"rank=3 slow=1.4 steps=100:200", "jitter=0.03",
                                            "slow=0.5 rank=0"};
  const Disturbances found = parse_disturbances(entries, 7, 4);
  EXPECT_EQ(found.seed, 7U);
  EXPECT_EQ(found.jitter, 0.03);
  ASSERT_EQ(found.slow_ranks.size(), 2U);
  EXPECT_EQ(found.slow_ranks[0],
            (SlowRank{.rank = 3, .slow = 1.4, .first_step = 100, .last_step = 200}));
  EXPECT_EQ(found.slow_ranks[1], (SlowRank{.rank = 0, .slow = 0.5}));
}

TEST(DisturbanceWords, SayWhatIsWrong) {
  EXPECT_EQ(problem(""), "device.simulate: '': it is empty");
  EXPECT_EQ(problem("rank=1"),
            "device.simulate: 'rank=1': a slow rank needs rank=N and slow=FACTOR");
  EXPECT_EQ(problem("rank=4 slow=2"),
            "device.simulate: 'rank=4 slow=2': there is no rank 4: the job has 4");
  EXPECT_EQ(problem("rank=one slow=2"),
            "device.simulate: 'rank=one slow=2': rank 'one' is not a number");
  EXPECT_EQ(problem("rank=1 slow=0"),
            "device.simulate: 'rank=1 slow=0': slow must be > 0 and <= "
            "1000000");
  EXPECT_EQ(problem("rank=1 slow=nan"),
            "device.simulate: 'rank=1 slow=nan': slow must be > 0 and "
            "<= 1000000");
  EXPECT_EQ(problem("rank=1 slow=2 steps=5"),
            "device.simulate: 'rank=1 slow=2 steps=5': steps are FIRST:LAST, both included");
  EXPECT_EQ(problem("jitter=0.1 rank=1"),
            "device.simulate: 'jitter=0.1 rank=1': jitter is of all ranks and steps, and stands "
            "alone");
  EXPECT_EQ(problem("jitter=-1"), "device.simulate: 'jitter=-1': jitter must be > 0 and <= 10");
  EXPECT_EQ(problem("dies=5"),
            "device.simulate: 'dies=5': 'dies=5' is none of rank=N, slow=FACTOR, "
            "steps=FIRST:LAST, jitter=SPREAD");
}

}  // namespace
}  // namespace lockstep
