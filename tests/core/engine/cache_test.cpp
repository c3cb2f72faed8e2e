// When a step is compiled, and when a compiled one is found.
#include "core/engine/compile.h"
#include "core/engine/compile_cache.h"
#include "core/ir/structure.h"
#include "core/ir/text.h"
#include "core/trace/context.h"
#include "tests/core/engine/rank.h"

namespace lockstep {
namespace {

struct Counts {
  std::int64_t cached;
  std::int64_t uncached;
  friend bool operator==(const Counts&, const Counts&) = default;
};
void PrintTo(const Counts& counts, std::ostream* out) {
  *out << counts.cached << " cached, " << counts.uncached << " uncached";
}

Counts counts_of(const Rank& rank) {
  return {rank.metrics.counter("CachedCompile"), rank.metrics.counter("UncachedCompile")};
}

TEST(Cache, GrowsByOneHitAStepInASteadyLoop) {
  Rank rank;
  Tensor p = rank.variable({1, 2});
  for (int step = 0; step < 8; ++step) {
    const Tensor x = rank.batch({{1, 2}, {3, 4}});
    p.assign(p - all_reduce(x) * rank.context.scalar(0.1, DType::kF32, "lr"));
    const Tensor norm = sum(p * p);
    rank.engine.mark_step();
    EXPECT_EQ(counts_of(rank), (Counts{step, 1}));
  }
}

TEST(Cache, RunsWhatWasOnlyPlannedBefore) {
  Rank rank;
  const Tensor x = rank.variable({1, 2});
  {
    const Tensor y = x * 3.0;
    (void)rank.engine.compile_pending();
    EXPECT_EQ(counts_of(rank), (Counts{0, 1}));
  }
  for (int step = 1; step <= 2; ++step) {
    const Tensor y = rank.variable({4, 5}) * 3.0;
    rank.engine.mark_step();
    EXPECT_THAT(values_of(y), testing::ElementsAre(12, 15));
    EXPECT_EQ(counts_of(rank), (Counts{step, 1}));
  }
}

TEST(Cache, HitsWhenAScalarChanges) {
  Rank rank;
  const Tensor x = rank.variable({1, 2});
  for (const double lr : {0.5, 0.25, 0.125}) {
    const Tensor y = x * rank.context.scalar(lr, DType::kF32, "lr");
    rank.engine.mark_step();
    EXPECT_EQ(values_of(y)[0], lr);
  }
  EXPECT_EQ(counts_of(rank), (Counts{2, 1}));
}

TEST(Cache, MissesWhenAConstantChanges) {
  Rank rank;
  const Tensor x = rank.variable({1, 2});
  for (const double factor : {0.5, 0.25, 0.5}) {
    const Tensor y = x * factor;
    rank.engine.mark_step();
    EXPECT_EQ(values_of(y)[0], factor);
  }
  EXPECT_EQ(counts_of(rank), (Counts{1, 2}));
}

TEST(Cache, KeepsEveryShapeItHasSeen) {
  Rank rank;
  for (const auto& values : std::vector<std::vector<float>>{{1}, {1, 2}, {3}, {4, 5}}) {
    const Tensor y = rank.variable(values) * 2.0;
    rank.engine.mark_step();
  }
  EXPECT_EQ(counts_of(rank), (Counts{2, 2}));
}

TEST(Cache, IgnoresNamesLinesAndScopes) {
  Rank rank;
  const Tensor a = rank.variable({1, 2}, "a") * 2.0;
  rank.engine.mark_step();
  const Tensor b = rank.variable({1, 2}, "b");
  const ModuleScope scope(rank.context, "elsewhere");
  const Tensor c = b * 2.0;
  rank.engine.mark_step();
  EXPECT_EQ(counts_of(rank), (Counts{1, 1}));
}

TEST(Cache, DistinguishesAnUpdateFromAResult) {
  Rank rank;
  const Tensor p = rank.variable({1, 2});
  const Tensor y = p * 2.0;
  rank.engine.mark_step();
  Tensor q = rank.variable({1, 2});
  q.assign(q * 2.0);
  rank.engine.mark_step();
  EXPECT_EQ(counts_of(rank), (Counts{0, 2}));
}

Graph graph_of(const std::string& text) {
  return parse(text, "test.ir");
}

CachedStep compiled(const Graph& graph) {
  auto out = std::make_shared<CompiledStep>();
  out->step = graph;
  return {out, nullptr};
}

TEST(CompileCache, ComparesTheWholeStructureWhenHashesCollide) {
  const Graph twice =
      graph_of("%x = f32[2] input() {kind=state}\n%y = f32[2] add(%x, %x)\nreturn %y");
  const Graph square =
      graph_of("%x = f32[2] input() {kind=state}\n%y = f32[2] multiply(%x, %x)\nreturn %y");
  const Graph zero =
      graph_of("%x = f32[2] input() {kind=state}\n%y = f32[2] subtract(%x, %x)\nreturn %y");
  const Hash128 same{1, 2};
  CompileCache cache(8);
  const auto compiled_twice = compiled(twice);
  const auto compiled_square = compiled(square);
  cache.insert(same, compiled_twice);
  EXPECT_EQ(cache.find(same, square), nullptr);
  cache.insert(same, compiled_square);
  EXPECT_EQ(cache.find(same, twice)->compiled, compiled_twice.compiled);
  EXPECT_EQ(cache.find(same, square)->compiled, compiled_square.compiled);
  EXPECT_EQ(cache.find(same, zero), nullptr);
}

TEST(CompileCache, LooksOnlyUnderTheHash) {
  const Graph graph = graph_of("%x = f32[2] input() {kind=state}\nreturn %x");
  CompileCache cache(8);
  cache.insert(Hash128{1, 2}, compiled(graph));
  EXPECT_EQ(cache.find(Hash128{1, 3}, graph), nullptr);
}

Graph graph_of_size(int size) {
  return graph_of(fmt::format("%x = f32[{}] input() {{kind=state}}\nreturn %x", size));
}

TEST(CompileCache, DropsTheLeastRecentlyUsed) {
  CompileCache cache(2);
  const Hash128 same{1, 2};  // dropping must find the right one of equal hashes
  for (const int size : {1, 2}) EXPECT_EQ(cache.insert(same, compiled(graph_of_size(size))), 0);
  EXPECT_NE(cache.find(same, graph_of_size(1)), nullptr);
  EXPECT_EQ(cache.insert(same, compiled(graph_of_size(3))), 1);
  EXPECT_EQ(cache.size(), 2);
  EXPECT_NE(cache.find(same, graph_of_size(1)), nullptr);
  EXPECT_EQ(cache.find(same, graph_of_size(2)), nullptr);
  EXPECT_NE(cache.find(same, graph_of_size(3)), nullptr);
}

TEST(CompileCache, KeepsTheOneThatIsNeeded) {
  CompileCache cache(0);
  cache.insert({1, 2}, compiled(graph_of_size(1)));
  EXPECT_NE(cache.find({1, 2}, graph_of_size(1)), nullptr);
}

TEST(CompileCache, DoesNotTakeAPlanFromARunningExecution) {
  CompileOptions options = Rank::compile_options();
  options.max_programs = 1;
  Rank rank(options);
  const EventPtr gate = rank.block_device();
  const Tensor first = rank.variable({1, 2}) * 2.0;
  rank.engine.mark_step();
  const Tensor second = rank.variable({1, 2, 3}) * 3.0;
  rank.engine.mark_step();  // drops the first step, which has not run yet
  EXPECT_EQ(rank.metrics.counter("CompileCacheEviction"), 1);
  gate->set();
  EXPECT_THAT(values_of(first), testing::ElementsAre(2, 4));
  EXPECT_THAT(values_of(second), testing::ElementsAre(3, 6, 9));
  const Tensor third = rank.variable({5, 6}) * 2.0;
  rank.engine.mark_step();
  EXPECT_THAT(values_of(third), testing::ElementsAre(10, 12));
  EXPECT_EQ(counts_of(rank), (Counts{0, 3}));
}

}  // namespace
}  // namespace lockstep
