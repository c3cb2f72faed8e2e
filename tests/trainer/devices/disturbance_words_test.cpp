#include "trainer/devices/disturbance_words.h"

#include <gtest/gtest.h>

#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

std::string problem(const std::string& entry) {
  const std::vector<std::string> entries = {entry};
  return usage_error([&] { parse_disturbances(entries, 1, {.ranks = 4, .on_node = 2}); });
}

TEST(DisturbanceWords, NameRanksAndJitter) {
  const std::vector<std::string> entries = {"rank=3 slow=1.4 steps=100:200", "jitter=0.03",
                                            "slow=0.5 rank=0"};
  const Disturbances found = parse_disturbances(entries, 7, {.ranks = 4, .on_node = 2});
  EXPECT_EQ(found.seed, 7U);
  EXPECT_EQ(found.jitter, 0.03);
  ASSERT_EQ(found.slow_ranks.size(), 2U);
  EXPECT_EQ(found.slow_ranks[0], (SlowRank{.rank = 3, .slow = 1.4, .steps = {100, 200}}));
  EXPECT_EQ(found.slow_ranks[1], (SlowRank{.rank = 0, .slow = 0.5}));
}

TEST(DisturbanceWords, SayWhatIsWrong) {
  EXPECT_EQ(problem(""), "device.simulate: '': it is empty");
  EXPECT_EQ(problem("rank=1"),
            "device.simulate: 'rank=1': a slow rank needs rank=N and slow=FACTOR, and may have "
            "steps=FIRST:LAST");
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
            "steps=FIRST:LAST, link=A,B, bandwidth=SHARE, dies_at_step=STEP, detection_s=SECONDS, "
            "restart_s=SECONDS, jitter=SPREAD");
  EXPECT_EQ(problem("link=1 bandwidth=0.5"),
            "device.simulate: 'link=1 bandwidth=0.5': a link is between two ranks, A,B");
  EXPECT_EQ(problem("link=1,1 bandwidth=0.5"),
            "device.simulate: 'link=1,1 bandwidth=0.5': a link is between two ranks, and these are "
            "one");
  EXPECT_EQ(problem("link=0,4 bandwidth=0.5"),
            "device.simulate: 'link=0,4 bandwidth=0.5': there is no rank 4: the job has 4");
  EXPECT_EQ(problem("link=0,1 bandwidth=2"),
            "device.simulate: 'link=0,1 bandwidth=2': bandwidth must be > 0 and <= 1");
  EXPECT_EQ(problem("rank=1 dies_at_step=-1"),
            "device.simulate: 'rank=1 dies_at_step=-1': the first step is 0");
  EXPECT_EQ(problem("rank=1 dies_at_step=3 slow=2"),
            "device.simulate: 'rank=1 dies_at_step=3 slow=2': a death needs rank=N and "
            "dies_at_step=STEP");
  EXPECT_EQ(problem("restart_s=-1"),
            "device.simulate: 'restart_s=-1': restart_s must be >= 0 and <= 1000000000");
}

TEST(DisturbanceWords, NameLinksAndDeaths) {
  const std::vector<std::string> entries = {
      "link=1,0 bandwidth=0.5", "link=1,2 bandwidth=0.25 steps=3:4", "rank=2 dies_at_step=50",
      "restart_s=60 detection_s=30"};
  const Disturbances found = parse_disturbances(entries, 7, {.ranks = 4, .on_node = 2});
  EXPECT_EQ(found.slow_links,
            (std::vector<SlowLink>{
                {.a = 0, .b = 1, .between_nodes = false, .bandwidth = 0.5},
                {.a = 1, .b = 2, .between_nodes = true, .bandwidth = 0.25, .steps = {3, 4}}}));
  EXPECT_EQ(found.deaths, (std::vector<Death>{{.rank = 2, .step = 50}}));
  EXPECT_EQ(found.detection_s, 30);
  EXPECT_EQ(found.restart_s, 60);
}

TEST(DisturbanceWords, MustNotContradictOneAnother) {
  const auto problem_of = [](const std::vector<std::string>& entries) {
    return usage_error([&] { parse_disturbances(entries, 1, {.ranks = 4, .on_node = 2}); });
  };
  EXPECT_EQ(problem_of({"rank=1 slow=2 steps=1:5", "rank=1 slow=3 steps=5:9"}),
            "device.simulate: 'rank=1 slow=3 steps=5:9': another entry says something else of this "
            "rank in these steps");
  EXPECT_EQ(problem_of({"link=0,1 bandwidth=0.5", "link=1,0 bandwidth=0.1"}),
            "device.simulate: 'link=1,0 bandwidth=0.1': another entry says something else of this "
            "link in these steps");
  EXPECT_EQ(problem_of({"rank=1 dies_at_step=3", "rank=1 dies_at_step=3"}),
            "device.simulate: 'rank=1 dies_at_step=3': it is given twice");
  EXPECT_EQ(problem_of({"restart_s=3", "detection_s=3"}),
            "device.simulate: 'detection_s=3': another entry says it, too");
}

}  // namespace
}  // namespace lockstep
