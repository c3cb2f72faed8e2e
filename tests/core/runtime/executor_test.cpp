#include "core/runtime/executor.h"

#include "collectives/single.h"
#include "tests/core/runtime/floats.h"
#include "tests/core/runtime/simple_plan.h"
#include "tests/fixtures/tested_target.h"
#include "tests/ranks/on_ranks.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

struct Executor : testing::Test {
  /// What a plan of this text ends with on a single rank.
  std::string error_alone(const std::string& text) {
    const LoadedPlan plan = load_copy(plan_of(text, kernels), kernels);
    const auto communicator = make_single_communicator();
    return error_of([&] { (void)run_plan_on(plan, std::vector{floats({1, 2})}, *communicator); });
  }

  KernelCache kernels{tested_target()};
};

/// Where a plan runs whose input is 1 and whose two outputs are one element each.
struct TwoOutputs {
  PlanMemory memory() {
    const auto bytes = [](float& value) { return reinterpret_cast<std::byte*>(&value); };
    return {.inputs = {bytes(x)}, .outputs = {bytes(y[0]), bytes(y[1])}, .arena = bytes(arena[0])};
  }
  /// Which of them are written when this one is signalled.
  std::string event(std::int32_t output) const {
    return fmt::format("{}: {} {}", output, y[0] != 0, y[1] != 0);
  }

  float x = 1;
  std::array<float, 2> y{};
  std::array<float, 64> arena{};
};

/// Two commands that write the outputs themselves.
void write_outputs(Plan& plan) {
  plan.commands.resize(2);
  for (std::int32_t k = 0; k < 2; ++k) {
    plan.commands[static_cast<std::size_t>(k)].results = {{Area::kOutput, k, 0, 4}};
    plan.commands[static_cast<std::size_t>(k)].finishes = {k};
  }
}

TEST_F(Executor, RunsKernelsConstantsAndCopies) {
  const LoadedPlan plan = load_copy(plan_of(R"(
    %x = f32[3] input() {kind=batch}
    %c = f32[3] constant() {value=[10, 20, 30]}
    %y = f32[3] add(%x, %c)
    %z = f32[3] multiply(%y, %y)
    return %y, %z)",
                                            kernels),
                                    kernels);
  const auto communicator = make_single_communicator();
  const auto outputs = run_plan_on(plan, std::vector{floats({1, 2, 3})}, *communicator);
  EXPECT_THAT(outputs[0].as<float>(), ElementsAre(11, 22, 33));
  EXPECT_THAT(outputs[1].as<float>(), ElementsAre(121, 484, 1089));
}

TEST_F(Executor, SignalsEachOutputAsItIsComplete) {
  Plan plan = plan_of(R"(
    %x = f32[1] input() {kind=batch}
    %y = f32[1] negate(%x)
    %z = f32[1] exp(%y)
    return %y, %z)",
                      kernels);
  write_outputs(plan);
  plan.commands[1].operands = {{Area::kOutput, 0, 0, 4}};
  plan.ready_outputs = {2};  // a third output is an input that needs no command
  TwoOutputs outputs;
  const auto communicator = make_single_communicator();
  ThreadPool pool(1);
  std::vector<std::string> events;
  run_plan(load_copy(plan, kernels), outputs.memory(), {pool, *communicator, 0, {}},
           {{}, [&](std::int32_t output) { events.push_back(outputs.event(output)); }});
  EXPECT_THAT(events, ElementsAre("2: false false", "0: true false", "1: true true"));
}

TEST_F(Executor, RunsCommandsAtOnceAndThenSignalsTheirOutputs) {
  Plan plan = plan_of(R"(
    %x = f32[1] input() {kind=batch}
    %y = f32[1] negate(%x)
    %z = f32[1] exp(%x)
    return %y, %z)",
                      kernels);
  write_outputs(plan);
  plan.commands[1].with_previous = true;
  EXPECT_EQ(count_bundles(plan), 1U);
  TwoOutputs outputs;
  const auto communicator = make_single_communicator();
  ThreadPool pool(2);
  std::vector<std::string> events;
  const auto event = [&](std::int32_t output) { events.push_back(outputs.event(output)); };
  run_plan(load_copy(plan, kernels), outputs.memory(), {pool, *communicator, 0, {}},
           {[&] { event(-1); }, event});
  EXPECT_THAT(events, ElementsAre("-1: false false", "0: true true", "1: true true"));
}

TEST_F(Executor, AsksOnceBeforeItWritesAnOutput) {
  Plan plan = plan_of(R"(
    %x = f32[1] input() {kind=batch}
    %y = f32[1] negate(%x)
    %z = f32[1] exp(%y)
    return %y, %z)",
                      kernels);
  TwoOutputs outputs;
  const auto communicator = make_single_communicator();
  ThreadPool pool(1);
  std::vector<bool> written;
  run_plan(load_copy(plan, kernels), outputs.memory(), {pool, *communicator, 0, {}},
           {[&] { written.push_back(outputs.y[0] != 0 || outputs.y[1] != 0); }, {}});
  EXPECT_THAT(written, ElementsAre(false));
  EXPECT_EQ(outputs.y[0], -1);
}

struct Commands final : SpanListener {
  void on_span(const Span& span) override { spans.push_back(span); }
  std::vector<Span> spans;
};

TEST_F(Executor, MeasuresCommandsWithoutWhatTheirOutputsSetOff) {
  const LoadedPlan plan = load_copy(plan_of(R"(
    %x = f32[1] input() {kind=batch}
    %y = f32[1] negate(%x)
    return %y)",
                                            kernels),
                                    kernels);
  float x = 1;
  float y = 0;
  std::array<float, 16> arena{};
  PlanMemory memory;
  memory.inputs = {reinterpret_cast<std::byte*>(&x)};
  memory.outputs = {reinterpret_cast<std::byte*>(&y)};
  memory.arena = reinterpret_cast<std::byte*>(arena.data());
  const auto communicator = make_single_communicator();
  ThreadPool pool(1);
  ManualClock clock;
  Metrics metrics(clock);
  SpanStream spans(clock, metrics);
  Commands commands;
  spans.listen(commands, {SpanKind::kCommand});
  const PlanContext context{.pool = pool,
                            .communicator = *communicator,
                            .step = 4,
                            .signature = {},
                            .spans = &spans,
                            .call = {.program = 7, .is_update = true, .micro_batch = 2}};
  run_plan(plan, memory, context, {{}, [&](std::int32_t) { clock.advance_ns(1000); }});
  ASSERT_EQ(commands.spans.size(), plan.plan->commands.size());
  for (std::size_t c = 0; c < commands.spans.size(); ++c) {
    EXPECT_EQ(commands.spans[c].ns(), 0);
    EXPECT_EQ(commands.spans[c].step, 4);
    EXPECT_EQ(commands.spans[c].args, (SpanArgs{7, 1, static_cast<std::int64_t>(c), 2}));
  }
  EXPECT_EQ(y, -1);
}

TEST_F(Executor, MeasuresEachCommandOfAChainAndSignalsItsOutputsBehindIt) {
  Plan plan = plan_of(R"(
    %x = f32[1] input() {kind=batch}
    %y = f32[1] negate(%x)
    %z = f32[1] exp(%y)
    return %y, %z)",
                      kernels);
  write_outputs(plan);
  plan.commands[1].operands = {{Area::kOutput, 0, 0, 4}};
  plan.commands[1].chained = true;
  EXPECT_EQ(next_chain(plan, 0), 2U);
  EXPECT_EQ(count_bundles(plan), 2U);
  TwoOutputs outputs;
  const auto communicator = make_single_communicator();
  ThreadPool pool(2);
  SteadyClock clock;
  Metrics metrics(clock);
  SpanStream spans(clock, metrics);
  Commands commands;
  spans.listen(commands, {SpanKind::kCommand});
  std::vector<std::string> events;
  const auto event = [&](std::int32_t output) { events.push_back(outputs.event(output)); };
  PlanContext context{pool, *communicator, 0, {}};
  context.spans = &spans;
  run_plan(load_copy(plan, kernels), outputs.memory(), context, {[&] { event(-1); }, event});
  EXPECT_THAT(events, ElementsAre("-1: false false", "0: true true", "1: true true"));
  ASSERT_EQ(commands.spans.size(), 2U);
  EXPECT_EQ(commands.spans[0].args[2], 0);
  EXPECT_EQ(commands.spans[1].args[2], 1);
  EXPECT_EQ(commands.spans[0].end_ns, commands.spans[1].begin_ns);
  EXPECT_GT(commands.spans[1].ns(), 0);
  EXPECT_LT(commands.spans[0].begin_ns, commands.spans[0].end_ns);
}

class Collectives : public testing::TestWithParam<int> {
 protected:
  /// Runs one collective on a vector of `count` floats, rank r's being r * 100 + 0, 1, 2, ...
  void run(const std::string& text, std::int64_t count,
           const std::function<void(int, const HostTensor&)>& check) {
    on_ranks(GetParam(), [&](Communicator& communicator) {
      KernelCache kernels(tested_target());
      const LoadedPlan plan = load_copy(plan_of(text, kernels), kernels);
      std::vector<float> values;
      for (std::int64_t i = 0; i < count; ++i)
        values.push_back(static_cast<float>(communicator.rank() * 100 + i));
      std::vector<HostTensor> inputs;
      if (count > 0) inputs.push_back(floats(values));
      check(communicator.rank(), run_plan_on(plan, inputs, communicator)[0]);
    });
  }
};

TEST_P(Collectives, ReduceScatterGivesEachRankItsSliceOfTheSum) {
  const int ranks = GetParam();
  const std::string text = fmt::format(R"(
    %x = f32[{0}] input() {{kind=state}}
    %y = f32[2] reduce_scatter(%x) {{ranks={1}}}
    return %y)",
                                       2 * ranks, ranks);
  run(text, 2 * ranks, [&](int rank, const HostTensor& out) {
    const auto hundreds = static_cast<float>(100 * ranks * (ranks - 1) / 2);
    EXPECT_THAT(out.as<float>(),
                ElementsAre(hundreds + static_cast<float>(ranks * 2 * rank),
                            hundreds + static_cast<float>(ranks * (2 * rank + 1))));
  });
}

TEST_P(Collectives, AllGatherGivesEveryRankAllSlices) {
  const int ranks = GetParam();
  const std::string text = fmt::format(R"(
    %x = f32[2] input() {{kind=state}}
    %y = f32[{0}] all_gather(%x) {{ranks={1}}}
    return %y)",
                                       2 * ranks, ranks);
  run(text, 2, [&](int, const HostTensor& out) {
    std::vector<float> expected;
    for (int r = 0; r < ranks; ++r)
      expected.insert(expected.end(),
                      {static_cast<float>(100 * r), static_cast<float>(100 * r + 1)});
    EXPECT_THAT(out.as<float>(), testing::ElementsAreArray(expected));
  });
}

TEST_P(Collectives, BroadcastGivesEveryRankTheRootsValue) {
  const int root = GetParam() - 1;
  const std::string text = fmt::format(R"(
    %x = f32[2] input() {{kind=state}}
    %y = f32[2] collective_broadcast(%x) {{root={}}}
    return %y)",
                                       root);
  run(text, 2, [&](int, const HostTensor& out) {
    EXPECT_THAT(out.as<float>(), ElementsAre(100 * root, 100 * root + 1));
  });
}

TEST_P(Collectives, ReplicaIdIsTheRank) {
  run("%r = i32[] replica_id()\nreturn %r", 0,
      [](int rank, const HostTensor& out) { EXPECT_EQ(out.as<std::int32_t>()[0], rank); });
}

INSTANTIATE_TEST_SUITE_P(Executor, Collectives, testing::Values(1, 2, 3, 4));

TEST_F(Executor, RefusesACollectiveOverAnotherNumberOfRanks) {
  EXPECT_EQ(error_alone("%x = f32[2] input() {kind=state}\n"
                        "%y = f32[4] all_gather(%x) {ranks=2, line=\"model.cpp:41\"}\n"
                        "return %y"),
            "2: model.cpp:41: all_gather over 2 ranks was run with 1");
}

TEST_F(Executor, RefusesARootThatIsNoRank) {
  EXPECT_EQ(error_alone("%x = f32[2] input() {kind=state}\n"
                        "%y = f32[2] collective_broadcast(%x) {root=1, line=\"model.cpp:42\"}\n"
                        "return %y"),
            "2: model.cpp:42: the root 1 is not one of 1 ranks");
}

}  // namespace
}  // namespace lockstep
