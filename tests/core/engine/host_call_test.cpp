// Functions on the host within steps: the time of the call, the counters, and the state after a
// step whose function fails.
#include "core/trace/host_call.h"

#include <cstddef>
#include <filesystem>

#include "core/base/metrics.h"
#include "core/engine/compile.h"
#include "core/engine/nonfinite.h"
#include "core/engine/step_io.h"
#include "core/engine/update_plans.h"
#include "core/ir/text.h"
#include "core/kernels/kernel_cache.h"
#include "core/kernels/reference/reference.h"
#include "core/runtime/device.h"
#include "core/runtime/loaded_step.h"
#include "core/trace/context.h"
#include "tests/core/engine/with_disk_cache.h"
#include "tests/fixtures/host_functions.h"
#include "tests/ranks/on_ranks.h"
#include "watch/watch.h"

namespace lockstep {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using HostIn = std::span<const HostTensor>;
using HostOut = std::span<HostTensor>;

Type f32_type(std::int64_t elements) {
  return {DType::kF32, Shape{elements}};
}

/// f(x) = x + 1, and keeps the first element of every operand it has seen.
struct Recorder {
  std::shared_ptr<std::vector<float>> seen = std::make_shared<std::vector<float>>();
  HostFunction add_one{"add_one", 1, [seen = seen](HostIn in, HostOut out) {
                         seen->push_back(in[0].as<float>()[0]);
                         for (std::size_t i = 0; i < in[0].as<float>().size(); ++i)
                           out[0].as<float>()[i] = in[0].as<float>()[i] + 1;
                       }};
};

/// Fails if the first element of its operand is negative.
HostFunction refuse_negative() {
  return {"refuse_negative", 1, [](HostIn in, HostOut out) {
            if (in[0].as<float>()[0] < 0) throw std::runtime_error("it is negative");
            out[0] = in[0];
          }};
}

TEST(HostCallInAStep, FeedsTheOpsBehindItAndReadsThoseBeforeIt) {
  Rank rank;
  const Tensor x = rank.variable({1, -2, 3});
  const std::vector<Tensor> both =
      host_call(HostFunction("split_sign", 1,
                             [](HostIn in, HostOut out) {
                               for (std::size_t i = 0; i < 3; ++i) {
                                 const float v = in[0].as<float>()[i] + in[1].as<float>()[0];
                                 out[0].as<std::int32_t>()[i] = v > 0 ? 1 : 0;
                                 out[1].as<float>()[i] = v;
                               }
                             }),
                {x * 2.0, sum(x)}, {{DType::kI32, Shape{3}}, f32_type(3)});
  const Tensor y = select(equal(both[0], 1), both[1] * 10.0, both[1]) + x;
  rank.engine.mark_step();
  EXPECT_THAT(values_of(y), ElementsAre(41, -4, 83));
  EXPECT_THAT(to_doubles(both[0].to_host()), ElementsAre(1, 0, 1));
}

TEST(HostCallInAStep, GivesTheBitsOfTheReference) {
  const auto record = [](const Tensor& x) {
    const Tensor turned = host_call(reverse_function(), {exp(x) + 1.0}, x.type());
    return rsqrt(turned * turned) + host_call(reverse_function(), {turned}, x.type());
  };
  Rank rank;
  const Tensor out = record(rank.variable({1, 2, 3, 4, 5}));
  rank.engine.mark_step();
  TraceContext context;
  const HostTensor values = Rank::vector_of({1, 2, 3, 4, 5});
  const Tensor again =
      record(context.tensor(std::make_shared<HostScalar>(values), InputKind::kParameter, "p"));
  const CutTrace cut = context.cut();
  const HostTensor wanted =
      evaluate_reference(cut.graph, {&values, 1}, context.host_functions())[0];
  const std::vector<double> want = to_doubles(wanted);
  const std::vector<double> got = to_doubles(out.to_host());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_FLOAT_EQ(got[i], want[i]);
}

TEST(HostCallInAStep, RunsOncePerMicroBatchInOrderOnTheDevicesThread) {
  const Recorder recorder;
  Rank rank;
  std::thread::id device;
  rank.device.enqueue([&] { device = std::this_thread::get_id(); });
  std::vector<std::thread::id> threads;
  const HostFunction where("where", 1, [&](HostIn in, HostOut out) {
    threads.push_back(std::this_thread::get_id());
    out[0] = in[0];
  });
  const Tensor x = rank.batch({{1, 2}, {3, 4}, {5, 6}, {7, 8}});
  const Tensor p = rank.variable({100});
  const Tensor total =
      all_reduce(host_call(where, {host_call(recorder.add_one, {x}, f32_type(2))}, f32_type(2)));
  // Of no micro-batch: once.
  const Tensor once = host_call(recorder.add_one, {p}, f32_type(1));
  rank.engine.mark_step();
  EXPECT_THAT(values_of(total), ElementsAre(20, 24));
  EXPECT_THAT(values_of(once), ElementsAre(101));
  EXPECT_THAT(*recorder.seen, ElementsAre(1, 3, 5, 7, 100));
  EXPECT_THAT(threads, AllOf(testing::SizeIs(4), testing::Each(device)));
}

TEST(HostCallInAStep, RunsForTheMicroBatchesOfItsRankWhicheverItIs) {
  std::vector<std::vector<float>> seen(2);
  std::vector<std::vector<float>> totals(2);
  on_ranks(2, [&](Communicator& communicator) {
    Rank rank(communicator);
    const Recorder recorder;
    const auto r = static_cast<std::size_t>(communicator.rank());
    const float first = static_cast<float>(2 * r);
    for (int step = 0; step < 3; ++step) {
      const Tensor x = rank.batch({{first + 1}, {first + 2}});
      const Tensor total = all_reduce(host_call(recorder.add_one, {x}, f32_type(1)));
      rank.engine.mark_step();
      totals[r].push_back(values_of(total)[0]);
    }
    seen[r] = *recorder.seen;
  });
  EXPECT_THAT(seen, ElementsAre(ElementsAre(1, 2, 1, 2, 1, 2), ElementsAre(3, 4, 3, 4, 3, 4)));
  EXPECT_THAT(totals, testing::Each(ElementsAre(14, 14, 14)));
}

TEST(HostCallInAStep, IsMadeOnceForEqualCallsAndNotAtAllForNobody) {
  const Recorder recorder;
  Rank rank;
  const Tensor x = rank.variable({1, 2});
  const Tensor a = host_call(recorder.add_one, {x}, f32_type(2));
  const Tensor b = host_call(recorder.add_one, {x}, f32_type(2)) * 2.0;
  (void)host_call(recorder.add_one, {x * 5.0}, f32_type(2));
  rank.engine.mark_step();
  EXPECT_THAT(values_of(a), ElementsAre(2, 3));
  EXPECT_THAT(values_of(b), ElementsAre(4, 6));
  EXPECT_THAT(*recorder.seen, ElementsAre(1));
}

TEST(HostCallInAStep, CountsItselfAndItsCopies) {
  Rank rank;
  const Tensor x = rank.batch({{1, 2, 3}, {4, 5, 6}});
  const Tensor y = all_reduce(host_call(reverse_function(), {x}, f32_type(3)));
  rank.engine.mark_step();
  rank.device.synchronize();
  EXPECT_EQ(rank.metrics.counter("HostCall"), 2);
  EXPECT_EQ(rank.metrics.metric("HostCallTime").samples, 2);
  const MetricData from = rank.metrics.metric("TransferFromDevice");
  EXPECT_EQ(from.samples, 2);
  EXPECT_EQ(from.accumulator, 2 * 3 * 4);
  EXPECT_EQ(rank.metrics.metric("TransferFromDeviceTime").samples, 2);
  const MetricData to = rank.metrics.metric("TransferToDevice");
  EXPECT_EQ(to.samples, 2 + 2);  // and the batch
  EXPECT_EQ(to.accumulator, 2 * 2 * 3 * 4);
  EXPECT_THAT(rank.metrics.report(), AllOf(HasSubstr("Metric: HostCallTime\n  TotalSamples: 2\n"),
                                           HasSubstr("Counter: HostCall\n  Value: 2\n")));
  EXPECT_EQ(rank.metrics.counter("DrainingRead"), 0);  // the device waits for nobody
}

TEST(HostCallInAStep, ThrowsTheErrorOfTheStep) {
  Rank rank;
  Tensor p = rank.variable({5});
  rank.engine.set_step(7);
  const Tensor x = rank.batch({{1}, {2}, {-1}, {4}});
  const int line = __LINE__ + 1;
  const Tensor checked = host_call(refuse_negative(), {x}, f32_type(1));
  p.assign(p + all_reduce(checked));
  const Tensor all = all_reduce(x);
  rank.engine.mark_step();
  rank.engine.set_step(8);
  const Tensor next = p * 2.0;
  const std::string error = fmt::format(
      "2: step 7: host_call_test.cpp:{}: host_call refuse_negative version 1: it is negative",
      line);
  rank.device.synchronize();
  EXPECT_EQ(error_of([&] { rank.engine.mark_step(); }), error);
  EXPECT_EQ(error_of([&] { (void)all.to_host(); }), error);
  EXPECT_EQ(error_of([&] { (void)checked.to_host(); }), error);
  // The step never reached its update, and the engine goes on.
  rank.engine.mark_step();
  EXPECT_THAT(values_of(p), ElementsAre(5));
  EXPECT_THAT(values_of(next), ElementsAre(10));
  p.assign(p + all_reduce(host_call(refuse_negative(), {rank.batch({{1}, {2}})}, f32_type(1))));
  rank.engine.mark_step();
  EXPECT_THAT(values_of(p), ElementsAre(8));
}

TEST(HostCallInAStep, IsNamedWhereItMakesWhatIsNotFinite) {
  Rank rank;
  const HostFunction divide("divide", 1, [](HostIn in, HostOut out) {
    out[0].as<float>()[0] = 1 / in[0].as<float>()[0];
  });
  Tensor p = rank.variable({0});
  p.assign(p + all_reduce(host_call(divide, {rank.batch({{1}, {0}})}, f32_type(1))));
  const auto found = rank.engine.find_nonfinite();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->micro_batch, 1);
  EXPECT_THAT(found->text, HasSubstr("host_call f32[1] (host_call_test.cpp:"));
}

/// A page as the watch maps one: all zero.
struct WatchedPage {
  alignas(ActivityPage) std::byte bytes[sizeof(ActivityPage)] = {};
  ActivityPage* get() { return reinterpret_cast<ActivityPage*>(bytes); }
};

TEST(HostCallInAStep, IsDeclaredToTheWatchWhileItRuns) {
  WatchedPage page;
  const auto foreign = [&] {
    std::vector<std::string> out;
    for (const ActivityPage::Foreign& call : page.get()->foreign)
      if (call.used != 0) out.push_back(call.name.load());
    return out;
  };
  std::vector<std::string> while_it_runs;
  const HostFunction look("match_boxes", 1, [&](HostIn in, HostOut out) {
    while_it_runs = foreign();
    while_it_runs.push_back(page.get()->device.what.load());
    out[0] = in[0];
  });
  const DeviceOptions watched{.activity = Activity(page.get())};
  Rank rank(watched);
  const Tensor y = host_call(look, {rank.variable({1})}, f32_type(1));
  rank.engine.mark_step();
  EXPECT_THAT(values_of(y), ElementsAre(1));
  EXPECT_THAT(while_it_runs, ElementsAre("host_call match_boxes", "host_call"));
  EXPECT_THAT(foreign(), IsEmpty());
}

/// Of a child process: ended by its watch.
void hang_in_a_host_call() {
  const std::unique_ptr<Watch> watch = Watch::of_this_process();
  watch->set_limits({.warn_s = 0.2, .abort_s = 60, .foreign_abort_s = 1});
  const DeviceOptions watched{.activity = watch->activity()};
  Rank rank(watched);
  const HostFunction hang("match_boxes", 1, [](HostIn, HostOut) { Event().wait(); });
  const Tensor y = host_call(hang, {rank.variable({1})}, f32_type(1));
  watch->activity().begin(Phase::kRead, 3);
  rank.engine.set_step(3);
  rank.engine.mark_step();
  (void)values_of(y);
}

TEST(HostCallThatHangs, IsNamedByTheWatchThatEndsTheProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(hang_in_a_host_call(), testing::ExitedWithCode(7),
              "makes no progress \\(in host_call match_boxes\\), at step 3 in the update");
}

struct HostCallOnDisk : WithDiskCache {
  /// x + `added`, by a function that says it has this version; and how it was found.
  std::string run(std::int64_t version, float added) const {
    Rank rank(options());
    const HostFunction add("add", version, [added](HostIn in, HostOut out) {
      out[0].as<float>()[0] = in[0].as<float>()[0] + added;
    });
    const Tensor y = all_reduce(host_call(add, {rank.batch({{1}, {2}})}, f32_type(1)) * 2.0);
    rank.engine.mark_step();
    return fmt::format("{}: {} hits, {} compiled", values_of(y)[0],
                       rank.metrics.counter("PersistentCacheHit"),
                       rank.metrics.counter("UncachedCompile"));
  }
};

TEST_F(HostCallOnDisk, IsFoundByNameAndVersionAndRunsTheFunctionOfTheProcess) {
  EXPECT_EQ(run(1, 10), "46: 0 hits, 1 compiled");
  EXPECT_EQ(run(1, 10), "46: 1 hits, 0 compiled");
  EXPECT_EQ(run(2, 20), "86: 0 hits, 1 compiled");
  EXPECT_EQ(run(1, 10), "46: 1 hits, 0 compiled");
  EXPECT_EQ(run(2, 20), "86: 1 hits, 0 compiled");
}

TEST_F(HostCallOnDisk, IsRefusedByNameWhereTheFunctionIsMissing) {
  const Graph graph = parse(
      "%x = f32[2] input() {kind=batch}\n"
      "%h = f32[2] host_call(%x) {function=\"reverse\", version=1, results=[f32[2]], "
      "line=\"detr.cpp:41\"}\n"
      "%s = f32[2] all_reduce(%h)\nreturn %s\n",
      "t.ir");
  const HostFunctions functions = only_reverse();
  CompileOptions with = options();
  with.host_functions = &functions;
  KernelCache kernels(host_target());
  UpdatePlans updates;
  const std::string identity = compile_identity(graph, with);
  const std::string bytes =
      serialize(*load_step(compile_step(graph, with, kernels, updates, Log::null()), with, kernels),
                identity);
  EXPECT_EQ(serialize(*deserialize(bytes, identity, graph, with, kernels), identity), bytes);
  const std::string missing =
      "2: detr.cpp:41: the host function reverse version 1 is not registered here (none is): it "
      "is code of the program that recorded the call";
  EXPECT_EQ(error_of([&] { (void)deserialize(bytes, identity, graph, options(), kernels); }),
            missing);
  EXPECT_EQ(error_of([&] { (void)compile_step(graph, options(), kernels, updates, Log::null()); }),
            missing);
}

}  // namespace
}  // namespace lockstep
