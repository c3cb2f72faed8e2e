#include "core/passes/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>
#include <cmath>
#include <iterator>
#include <random>

#include "core/base/error.h"
#include "core/ir/structure.h"
#include "core/ir/text.h"
#include "core/kernels/reference/reference.h"
#include "tests/core/ir/every_op.h"
#include "tests/fixtures/file_contents.h"
#include "tests/fixtures/host_functions.h"
#include "tests/graphs/random_graph.h"

namespace lockstep {
namespace {

constexpr std::string_view kText = R"(
  %x = f32[4] input() {kind=batch, name="x"} %unused = f32[2] input()
  %one = f32[] constant() {value=1} %One = f32[4] broadcast(%one) {shape=[4], dims=[]}
  %a = f32[4] multiply(%x, %One) %b = f32[4] exp(%a) %c = f32[4] exp(%x) %d = f32[4] add(%b, %c)
  return %d, %x update 0 -> %x)";

TEST(Pipeline, RunsEveryPassInOrder) {
  std::vector<PassReport> reports;
  const Graph graph =
      run_pipeline(parse(kText, "t.ir"), Target{}, {.verify = true}, Log::null(), &reports);
  std::vector<std::string_view> names;
  for (const PassReport& report : reports) names.push_back(report.name);
  EXPECT_THAT(names, ::testing::ElementsAre("canonicalize", "fold", "simplify", "absorb_scales",
                                            "channels_last", "cse", "dce", "fuse", "schedule"));
  EXPECT_EQ(print(graph), print(parse(R"(
    %x = f32[4] input() {kind=batch, name="x"} %unused = f32[2] input()
    %g = f32[4] fusion(%x) {shape=[4], axis=1} body {
      %p = f32[4] input() %e = f32[4] exp(%p) %s = f32[4] add(%e, %e) return %s }
    return %g, %x update 0 -> %x)",
                                      "t.ir")));
}

TEST(Pipeline, MeasuresOnTheGivenClock) {
  const ManualClock clock;
  Metrics metrics(clock);
  SpanStream spans(clock, metrics);
  PassOptions options;
  options.spans = &spans;
  std::vector<PassReport> reports;
  run_pipeline(parse(kText, "t.ir"), Target{}, options, Log::null(), &reports);
  for (const PassReport& report : reports) EXPECT_EQ(report.ns, 0);
  EXPECT_FALSE(reports[0].changed);
  EXPECT_TRUE(reports[2].changed);  // simplify
}

TEST(Pipeline, LeavesOutDisabledPasses) {
  PassOptions options;
  options.disabled = {"fuse", "cse"};
  const Graph graph = run_pipeline(parse(kText, "t.ir"), Target{}, options, Log::null());
  for (const Node& node : graph.nodes) EXPECT_NE(node.op, Op::kFusion);
}

TEST(Pipeline, RefusesUnknownNames) {
  PassOptions options;
  options.disabled = {"fusee"};
  try {
    run_pipeline(parse(kText, "t.ir"), Target{}, options, Log::null());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_STREQ(error.what(), "unknown pass 'fusee'; did you mean 'fuse'?");
  }
}

TEST(Pipeline, NamesThePassThatBroughtABadGraph) {
  Graph graph = parse(kText, "t.ir");
  graph.nodes[4].type.shape = Shape{5};
  try {
    run_pipeline(graph, Target{}, {.verify = true}, Log::null());
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("the graph after 'tracing' breaks the rule"));
  }
}

TEST(Pipeline, DumpsGraphsThatChanged) {
  const std::string file = ::testing::TempDir() + "pipeline_test.log";
  std::remove(file.c_str());
  {
    Log log({.console = false, .file = file, .debug = 5});
    run_pipeline(parse(kText, "t.ir"), Target{}, {}, log);
  }
  const std::string text = contents_of(file);
  EXPECT_THAT(text, ::testing::HasSubstr("after simplify:\n%0 = f32[4] input()"));
  EXPECT_THAT(text, ::testing::HasSubstr("nodes (unchanged)"));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("after canonicalize:")));
}

TEST(Pipeline, TakesEveryOp) {
  Graph graph = parse(testing::kEveryOp, "every_op.ir");
  graph.outputs.clear();
  for (ValueId id = 0; id < graph.size(); ++id) graph.outputs.push_back(id);
  const std::size_t inputs = graph.inputs.size();
  PassOptions options;
  options.verify = true;
  graph = run_pipeline(std::move(graph), Target{}, options, Log::null());
  EXPECT_EQ(graph.inputs.size(), inputs);
  for (const Node& node : graph.nodes) EXPECT_FALSE(is_elementwise(node.op)) << name_of(node.op);
}

/// Equal bits; any NaN equals any other.
bool same_values(const HostTensor& a, const HostTensor& b) {
  const std::vector<double> x = to_doubles(a);
  const std::vector<double> y = to_doubles(b);
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i]) && std::isnan(y[i])) continue;
    if (std::bit_cast<std::uint64_t>(x[i]) != std::bit_cast<std::uint64_t>(y[i])) return false;
  }
  return true;
}

/// f32 inputs of a random graph with infinities, NaN, large numbers and zeros of both signs in
/// them.
std::vector<HostTensor> with_special_values(std::vector<HostTensor> inputs, std::uint64_t seed) {
  static constexpr float kSpecial[] = {0.0F, -0.0F, INFINITY, -INFINITY, NAN, 1.0F, -1.0F, 1e30F};
  std::mt19937_64 random(seed);
  for (HostTensor& input : inputs) {
    if (input.dtype() != DType::kF32) continue;
    for (float& x : input.as<float>())
      if (const auto word = random(); word % 4 == 0) x = kSpecial[word / 4 % 8];
  }
  return inputs;
}

/// All but the pass that says how far it may be off, for numbers that are finite.
TEST(Pipeline, EveryPassKeepsEveryBitOfEveryOutput) {
  EXPECT_TRUE(rc::check([](std::uint64_t seed) {
    const testing::RandomGraph random = testing::random_graph(seed, *rc::gen::inRange(1, 60));
    Graph graph = random.graph;
    const std::vector<HostTensor> inputs = with_special_values(random.inputs, seed);
    const std::vector<HostTensor> wanted = evaluate_reference(graph, inputs, only_reverse());
    for (const Pass& pass : pipeline()) {
      if (pass.name == "absorb_scales") continue;
      const std::string before = print(graph);
      const Graph old = graph;
      graph = pass.run(std::move(graph), Target{}, Log::null());
      RC_ASSERT(graph.inputs.size() == old.inputs.size());
      RC_ASSERT(graph.updates == old.updates);
      const std::vector<HostTensor> found = evaluate_reference(graph, inputs, only_reverse());
      RC_ASSERT(found.size() == wanted.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        if (same_values(found[i], wanted[i])) continue;
        RC_LOG() << "output " << i << " after " << pass.name << "\n"
                 << before << "became\n"
                 << print(graph);
        RC_FAIL("a value changed");
      }
    }
  }));
}

}  // namespace
}  // namespace lockstep
