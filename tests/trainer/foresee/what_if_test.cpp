// A measured step with one cost or setting changed: by hand, and what must hold of any.
#include "trainer/foresee/what_if.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

using testing::HasSubstr;

constexpr auto kDot = static_cast<std::size_t>(WorkClass::kDot);
constexpr auto kFused = static_cast<std::size_t>(WorkClass::kFused);
constexpr auto kOptimizer = static_cast<std::size_t>(WorkClass::kOptimizer);

/// A step of 100 ms in two micro-batches.
LedgerStep measured() {
  LedgerStep out;
  out.gradient[kDot] = 50e-3;
  out.gradient[kFused] = 20e-3;
  out.update[kOptimizer] = 10e-3;
  out.sums = 2e-3;
  out.exposed = 12e-3;
  out.waits = 4e-3;
  out.dispatch = 2e-3;
  return out;
}

/// What the limits say of it: less than was measured.
RunModel model() {
  RunModel out;
  out.gradient[kDot] = 40e-3;
  out.gradient[kFused] = 10e-3;
  out.update[kOptimizer] = 8e-3;
  out.buckets = {{.bytes = 4e6, .ready = 0.5}, {.bytes = 6e6, .ready = 1}};
  out.micro_batches = 2;
  out.sums = 1e-3;
  return out;
}

RunChange change(const std::string& words) {
  Config config;
  config.batch = {.global_batch_size = 24, .micro_batch_size = 12};
  return parse_change(words, config);
}

double after_ms(const WhatIf& answer, const std::string& part) {
  const auto found = std::ranges::find(answer.parts, part, &ChangedPart::name);
  return found == answer.parts.end() ? 0 : found->after_ms;
}

TEST(WhatIf, NothingChangesIfNothingIsChanged) {
  const WhatIf answer = replay({.words = "dots=1x"}, measured(), model(), model());
  EXPECT_NEAR(answer.before_ms, 100, 1e-9);
  EXPECT_NEAR(answer.after_ms, 100, 1e-4) << "the rule is in whole nanoseconds";
  for (const ChangedPart& part : answer.parts) EXPECT_NEAR(part.after_ms, part.before_ms, 1e-4);
  double sum = 0;
  for (const ChangedPart& part : answer.parts) sum += part.after_ms;
  EXPECT_NEAR(sum, answer.after_ms, 1e-9);
}

TEST(WhatIf, ACostOfOneClassChangesItAndWhatHidesBehindIt) {
  RunModel large = model();
  large.buckets[0].bytes = 10e6;
  const WhatIf answer = replay(change("dots=2x"), measured(), large, large);
  EXPECT_NEAR(after_ms(answer, "dot"), 25, 1e-9);
  EXPECT_NEAR(after_ms(answer, "fused"), 20, 1e-9);
  EXPECT_GT(after_ms(answer, "all-reduce"), 12) << "less of it is hidden";
  EXPECT_EQ(answer.moved_most()->name, "dot");
  const WhatIf none = replay(change("all_reduce=0"), measured(), model(), model());
  EXPECT_NEAR(none.after_ms, 88, 1e-4);
}

TEST(WhatIf, BandwidthChangesWhatIsExposed) {
  // The last bucket's 6 MB are sent behind the last call, the first's 4 MB beside it: so 12 ms are
  // 2 ms a MB.
  const WhatIf twice = replay(change("bandwidth=2x"), measured(), model(), model());
  const WhatIf half = replay(change("bandwidth=0.5x"), measured(), model(), model());
  EXPECT_NEAR(after_ms(twice, "all-reduce"), 6, 0.01);
  EXPECT_GT(after_ms(half, "all-reduce"), 24 - 0.01);
}

TEST(WhatIf, BandwidthLeavesWhatCoresTake) {
  RunModel cores = model();
  cores.buckets[1].cores = 8e-3;  // of 12: so the link takes sqrt(12^2 - 8^2) ms
  const WhatIf twice = replay(change("bandwidth=2x"), measured(), cores, cores);
  EXPECT_NEAR(after_ms(twice, "all-reduce"), std::hypot(std::sqrt(80.0) / 2, 8), 0.01);
  EXPECT_NEAR(after_ms(replay(change("all_reduce=2x"), measured(), cores, cores), "all-reduce"), 6,
              0.01);
}

/// 12 ms of the last bucket are 5 of the link and hypot(5, x) of cores: a link a tenth as quick
/// takes 50 of its own, whatever part cores had before.
TEST(WhatIf, AKnownLinkLeavesTheRestToCores) {
  RunModel cores = model();
  cores.sent = 1;
  cores.buckets[0].cores = 1e-3;
  cores.buckets[1].cores = 2e-3;
  const NodeLink link{.bytes_per_s = 6e6 * 1514 / 1448 / 5e-3};
  const auto exposed = [&](const std::string& words) {
    return after_ms(replay(change(words), measured(), cores, cores, &link), "all-reduce");
  };
  EXPECT_NEAR(exposed("bandwidth=1x"), 12, 1e-4);
  EXPECT_NEAR(exposed("bandwidth=100x"), std::sqrt(12.0 * 12 - 25), 0.01);
  EXPECT_NEAR(exposed("bandwidth=0.5x"), std::sqrt(12.0 * 12 - 25 + 100), 0.01);
  EXPECT_EQ(exposed("all_reduce=0"), 0);
  const NodeLink slow{.bytes_per_s = link.bytes_per_s / 4};  // would expose 20 ms alone
  EXPECT_NEAR(
      after_ms(replay(change("bandwidth=1x"), measured(), cores, cores, &slow), "all-reduce"), 12,
      1e-4)
      << "what was measured stands";
}

TEST(WhatIf, CommandsGetBackWhatCoresSpentOnAllReduces) {
  RunModel cores = model();
  cores.buckets[0].cores = 4e-3;  // beside commands; the last bucket is behind them
  cores.buckets[1].cores = 6e-3;
  const WhatIf same = replay(change("bandwidth=1x"), measured(), cores, cores);
  EXPECT_NEAR(same.after_ms, 100, 1e-4);
  const WhatIf none = replay(change("all_reduce=0"), measured(), cores, cores);
  EXPECT_NEAR(after_ms(none, "dot") + after_ms(none, "fused"), 70 - 4, 0.01);
  EXPECT_NEAR(after_ms(none, "dot") / after_ms(none, "fused"), 2.5, 1e-6);
  EXPECT_EQ(after_ms(none, "all-reduce"), 0);
  EXPECT_NEAR(after_ms(none, "optimizer"), 10, 1e-9) << "no all-reduce is beside it";
}

TEST(WhatIf, SettingsScaleWhatWasMeasuredByTheModel) {
  RunModel after = model();
  after.gradient[kDot] = 20e-3;
  after.gradient[static_cast<std::size_t>(WorkClass::kGather)] = 1e-3;
  const WhatIf answer = replay(change("training.precision=bf16-mixed"), measured(), model(), after);
  EXPECT_NEAR(after_ms(answer, "dot"), 25, 1e-9) << "50 ms, 20 of 40";
  EXPECT_NEAR(after_ms(answer, "gather"), 70.0 / 50, 1e-9) << "as all work, above the model";
}

TEST(WhatIf, SumsGrowWithMicroBatches) {
  RunModel after = model();
  after.micro_batches = 4;
  const WhatIf answer = replay(change("batch=2x"), measured(), model(), after);
  EXPECT_NEAR(after_ms(answer, "gradient sums"), 6, 1e-9) << "three additions in place of one";
}

TEST(WhatIf, AHostThatHidNoLongerDoes) {
  LedgerStep step = measured();
  step.host = 90e-3;
  const WhatIf answer = replay(change("dots=0"), step, model(), model());
  double busy = answer.after_ms - after_ms(answer, "waiting for the host");
  EXPECT_LT(busy, 90);
  EXPECT_NEAR(answer.after_ms, 90, 1e-4);
}

TEST(WhatIf, RanksThatWaitCountApart) {
  RankProfile late{.rank = 0, .ranks = 2, .steps = 1};
  late.rows = {{.program = "gradient", .work = "dot", .ms = 60},
               {.program = "step", .work = "all-reduce", .ms = 10}};
  RankProfile early{.rank = 1, .ranks = 2, .steps = 1};
  early.rows = {{.program = "gradient", .work = "dot", .ms = 40},
                {.program = "step", .work = "all-reduce", .ms = 30}};
  const LedgerStep step = measured_step({late, early}, 7);
  EXPECT_NEAR(step.gradient[kDot], 50e-3, 1e-12);
  EXPECT_NEAR(step.exposed, 10e-3, 1e-12);
  EXPECT_NEAR(step.waits, 10e-3, 1e-12);
  EXPECT_NEAR(step.total(), 70e-3, 1e-12);
  EXPECT_NEAR(step.host, 7e-3, 1e-12);
}

TEST(RunChange, ReadsItsWords) {
  EXPECT_EQ(change("dots=4x").work.at("dot"), 0.25);
  EXPECT_EQ(change("fused-reduce=0").work.at("fused-reduce"), 0);
  EXPECT_EQ(change("all_reduce=0").all_reduce, 0);
  EXPECT_EQ(change("bandwidth=2x").bandwidth, 2);
  EXPECT_EQ(change("memory_bandwidth=2x").memory_bandwidth, 2);
  EXPECT_EQ(change("batch=2x").keys, std::vector<std::string>{"training.global_batch_size=48"});
  EXPECT_EQ(change("micro_batch=0.5x").keys,
            std::vector<std::string>{"training.micro_batch_size=6"});
  EXPECT_EQ(change("overlap=off").keys, std::vector<std::string>{"distributed.overlap=false"});
  EXPECT_EQ(change("model.n_layer=3").keys, std::vector<std::string>{"model.n_layer=3"});
  EXPECT_TRUE(change("optimizer=unfused").unfused_optimizer);
}

TEST(RunChange, RefusesOthers) {
  for (const auto& [words, message] : std::vector<std::pair<std::string, std::string>>{
           {"dots", "--what-if dots: it must be NAME=VALUE, as in dots=2x"},
           {"dots=2", "'2' is no factor above 0, as in 2x"},
           {"dots=-1x", "'-1x' is no factor above 0"},
           {"dots=infx", "'infx' is no factor above 0"},
           {"dotz=2x", "'dotz' is none of all_reduce, bandwidth"},
           {"allreduce=0", "did you mean 'all_reduce'?"},
           {"batch=0.3x",
            "training.global_batch_size is 24, and 0.3 times that is no whole number"},
           {"overlap=maybe", "overlap is on or off"}})
    EXPECT_THAT(usage_error([&] { change(words); }), HasSubstr(message)) << words;
}

}  // namespace
}  // namespace lockstep
