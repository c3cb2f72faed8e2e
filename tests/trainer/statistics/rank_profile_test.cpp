#include "trainer/statistics/rank_profile.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/trace/elementwise.h"
#include "core/trace/ops.h"
#include "tests/core/engine/rank.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/file_contents.h"
#include "tests/fixtures/temporary_folder.h"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

/// Of four steps that square a variable.
RankProfile measured_profile() {
  Rank rank;
  Ledger ledger(rank.engine.programs(), [](const Plan&, std::size_t) { return 1e-3; });
  rank.spans.listen(ledger, Ledger::kKinds);
  Tensor state = rank.variable({1, 2});
  for (int i = 0; i < 4; ++i) {
    state.assign(state * state);
    rank.engine.mark_step();
    rank.engine.wait();  // the device reads the clock as each step ends
    rank.clock.advance_ns(2'000'000);
  }
  rank.engine.wait();
  RankProfile out = profile_of(ledger);
  out.host = "a";
  out.limits = "not calibrated: default";
  return out;
}

std::string profile_error(const std::string& text) {
  return usage_error([&] { parse_rank_profile(text, "here"); });
}

TEST(RankProfile, HoldsStepsAndRowsThatSumToTheStep) {
  const RankProfile profile = measured_profile();
  EXPECT_EQ(profile.steps, 3);
  EXPECT_EQ(profile.left_out, 1);
  EXPECT_THAT(profile.step_ms, SizeIs(3));
  double ms = 0;
  bool has_bundle = false;
  for (const LedgerRow& row : profile.rows) {
    ms += row.ms;
    has_bundle |= row.line.starts_with("rank_profile_test.cpp:");
  }
  EXPECT_NEAR(ms, profile.mean_step_ms, 1e-9);
  EXPECT_TRUE(has_bundle);
}

/// The same, of ranks that stand for devices.
RankProfile simulated_profile() {
  RankProfile out = measured_profile();
  out.simulated = {.device = "a100", .steps = 3, .mean_step_ms = 1.5};
  out.rows[0].virtual_ms = 1.5;
  out.rows[0].virtual_lower_bound_ms = 0.5;
  return out;
}

TEST(RankProfile, IsReadAsItWasWritten) {
  RankProfile of_many_hosts = measured_profile();
  of_many_hosts.core_wait_ms = 0.25;
  of_many_hosts.wall_clock = WallClock{.ahead_ms = -3.5, .uncertainty_ms = 0.1};
  of_many_hosts.odd_steps[0].core_wait_beyond_mean_ms = 7;
  const RankProfile read = parse_rank_profile(to_json(of_many_hosts), "here");
  EXPECT_EQ(read.core_wait_ms, 0.25);
  EXPECT_EQ(read.wall_clock.value_or(WallClock{}).ahead_ms, -3.5);
  EXPECT_EQ(read.odd_steps[0].core_wait_beyond_mean_ms, 7);
  for (const RankProfile& profile : {measured_profile(), simulated_profile(), of_many_hosts})
    EXPECT_EQ(to_json(parse_rank_profile(to_json(profile), "here")), to_json(profile));
}

TEST(RankProfile, NumbersStepsAndKeepsOddOnes) {
  const RankProfile read = parse_rank_profile(to_json(measured_profile()), "here");
  EXPECT_THAT(read.step_numbers, SizeIs(3));
  ASSERT_FALSE(read.odd_steps.empty());
  EXPECT_TRUE(read.odd_steps[0].first_of_program);
  auto older = nlohmann::json::parse(to_json(measured_profile()));
  older.erase("step_numbers");
  older.erase("odd_steps");
  EXPECT_THAT(parse_rank_profile(older.dump(), "here").step_ms, SizeIs(3));
  EXPECT_THAT(parse_rank_profile(older.dump(), "here").odd_steps, IsEmpty());
}

TEST(RankProfile, HasTheTimesOfBuckets) {
  RankProfile profile = measured_profile();
  EXPECT_THAT(to_json(profile), Not(HasSubstr("buckets")));
  profile.buckets = {
      .steps = 3,
      .gradient_end_ms = 4,
      .update_begin_ms = 5,
      .times = {{.bucket = 0, .bytes = 64, .begin_ms = 3, .end_ms = 4.5, .exposed_ms = 0.5}}};
  const std::string text = to_json(profile);
  const RankProfile read = parse_rank_profile(text, "here");
  EXPECT_EQ(to_json(read), text);
  EXPECT_EQ(read.buckets.times.at(0).end_ms, 4.5);
  auto json = nlohmann::json::parse(text);
  json["buckets"]["times"][0]["bytes"] = -1;
  EXPECT_EQ(profile_error(json.dump()), "here: damaged: bytes is -1");
  json["buckets"]["steps"] = 0;
  EXPECT_EQ(profile_error(json.dump()), "here: damaged: steps is 0");
}

/// As files did not before there was any.
TEST(RankProfile, HasVirtualTimesOnlyOfARunThatKeptThem) {
  EXPECT_THAT(to_json(measured_profile()), Not(HasSubstr("sim")));
  EXPECT_THAT(to_json(simulated_profile()), HasSubstr("\"sim_ms\": 1.5"));
  const RankProfile read = parse_rank_profile(to_json(simulated_profile()), "here");
  EXPECT_EQ(read.simulated.device, "a100");
  EXPECT_EQ(read.simulated.steps, 3);
  EXPECT_EQ(read.rows[0].virtual_ms, 1.5);
  EXPECT_EQ(read.rows[0].virtual_lower_bound_ms, 0.5);
}

TEST(RankProfile, RefusesVirtualTimesThatCannotBe) {
  RankProfile profile = simulated_profile();
  profile.simulated.mean_step_ms = 2;
  EXPECT_THAT(profile_error(to_json(profile)),
              HasSubstr("its rows sum to 1.5 ms, and a step takes 2 ms"));
  auto json = nlohmann::json::parse(to_json(simulated_profile()));
  json["simulated"]["steps"] = 0;
  EXPECT_EQ(profile_error(json.dump()), "here: damaged: steps is 0");
  json["simulated"] = {{"device", ""}, {"steps", 3}, {"mean_step_ms", 1.5}};
  EXPECT_EQ(profile_error(json.dump()), "here: damaged: the simulated device has no name");
}

TEST(RankProfile, RefusesWhatItDidNotWrite) {
  const std::string text = to_json(measured_profile());
  EXPECT_THAT(profile_error(text.substr(0, text.size() / 2)),
              HasSubstr(": not valid JSON: the text ends too"));
  EXPECT_THAT(profile_error("[]"), HasSubstr("here: damaged: "));
  EXPECT_THAT(profile_error(R"({"format": "a map"})"), HasSubstr("here: this is not a profile"));
  EXPECT_THAT(profile_error(R"({"format": "lockstep profile", "version": 9})"),
              HasSubstr("here: version 9 is not supported"));
}

TEST(RankProfile, RefusesFiguresThatCannotBe) {
  const std::string text = to_json(measured_profile());
  const auto with = [&](const char* key, const nlohmann::json& value) {
    auto json = nlohmann::json::parse(text);
    json[key] = value;
    return profile_error(json.dump());
  };
  EXPECT_EQ(with("rank", 0), "no error");
  EXPECT_EQ(with("rank", 1), "here: damaged: rank is 1");
  EXPECT_EQ(with("ranks", 2'000'000'000), "here: damaged: ranks is 2000000000");
  EXPECT_EQ(with("ranks", -5), "here: damaged: ranks is -5");
  EXPECT_EQ(with("ranks", 1.5), "here: damaged: ranks is 1.5");
  EXPECT_EQ(with("steps", -1), "here: damaged: steps is -1");
  EXPECT_EQ(with("step_ms", {1e300}), "here: damaged: a figure is 1e+300");
  EXPECT_EQ(with("step_numbers", {1}),
            "here: damaged: it has the times of 3 steps and the numbers of 1");
  EXPECT_EQ(with("step_numbers", {1, 2, -2}), "here: damaged: a step's number is -2");
  EXPECT_THAT(with("odd_steps", {{{"step", 1}}}), HasSubstr("here: damaged: "));
  EXPECT_THAT(with("mean_step_ms", 0), HasSubstr("here: damaged: its rows sum to "));
  EXPECT_THAT(with("rows", nlohmann::json::array()), HasSubstr("its rows sum to 0 ms"));
}

TEST(RankProfile, HasNoCommandsForTerminals) {
  auto json = nlohmann::json::parse(to_json(measured_profile()));
  json["host"] = "a\x1b[2J\nb";
  EXPECT_EQ(parse_rank_profile(json.dump(), "here").host, "a?[2J?b");
}

TEST(RankProfile, IsKeptInTheRunsFolderUntilTheNextRun) {
  const TemporaryFolder run;
  EXPECT_THAT(read_profiles(run.path()), IsEmpty());
  RankProfile profile = measured_profile();
  profile.ranks = 3;
  for (const int rank : {2, 0}) {
    profile.rank = rank;
    write_profile(run.path(), profile, Log::null());
  }
  const std::vector<RankProfile> read = read_profiles(run.path());
  ASSERT_THAT(read, SizeIs(2));
  EXPECT_EQ(read[0].rank, 0);
  EXPECT_EQ(read[1].rank, 2);
  profile.rank = 0;
  profile.ranks = 1;  // a rank's profile of a larger job, left behind
  write_profile(run.path(), profile, Log::null());
  EXPECT_THAT(read_profiles(run.path()), SizeIs(1));
  remove_profiles(run.path());
  EXPECT_THAT(read_profiles(run.path()), IsEmpty());
}

TEST(RankProfile, SaysThatItCannotBeWritten) {
  const TemporaryFolder run;
  std::ofstream(run.path("profile")) << "a file where a folder is to be";
  const DebugLog debug;
  write_profile(run.path(), measured_profile(), *debug.log);
  EXPECT_THAT(debug.lines_with("the profile could not be written"), SizeIs(1));
}

}  // namespace
}  // namespace lockstep
