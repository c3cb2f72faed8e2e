// Memory plans of random graphs, run by the oracle.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/passes/bundles.h"
#include "core/passes/chains.h"
#include "core/passes/memory_plan.h"
#include "core/passes/pipeline.h"
#include "tests/core/passes/memory_graphs.h"
#include "tests/core/passes/memory_oracle.h"
#include "tests/graphs/random_graph.h"

namespace lockstep {
namespace {

using testing::MemoryGraph;

int pick(int low, int high) {
  return *rc::gen::resize(100, rc::gen::inRange(low, high + 1));
}

ValueId random_slice(MemoryGraph& b, ValueId x) {
  std::vector<std::int64_t> start, limit, stride;
  for (const std::int64_t size : b.graph[x].type.shape.sizes()) {
    const bool whole = pick(0, 1) == 0;
    start.push_back(whole ? 0 : pick(0, static_cast<int>(size)));
    limit.push_back(whole ? size : pick(static_cast<int>(start.back()), static_cast<int>(size)));
    stride.push_back(pick(0, 3) == 0 ? 2 : 1);
  }
  return b.slice(x, start, limit, stride);
}

/// Chains, joins, views of views, and movement, on matrices and vectors.
Graph random_graph() {
  MemoryGraph b;
  for (int i = pick(1, 4); i-- > 0;) b.input(pick(0, 8) == 0 ? 0 : pick(1, 3));
  b.graph.add_constant(HostTensor::of(Shape({2, 16}), std::vector<float>(32, 1.0F)));
  for (int i = pick(1, 25); i-- > 0;) {
    const ValueId x =
        pick(0, 2) == 0 ? pick(0, b.graph.size() - 1) : std::max(0, b.graph.size() - pick(1, 6));
    const ValueId y = pick(0, b.graph.size() - 1);
    const bool same = b.graph[y].type == b.graph[x].type;
    const bool small = b.graph[x].type.elements() < 200;
    switch (pick(0, 7)) {
      case 0:
      case 1: b.negate(x); break;
      case 2:
      case 3: b.add(x, same ? y : x); break;
      case 4: b.copy(x); break;
      case 5: random_slice(b, x); break;
      case 6: b.flatten(x); break;
      default:
        if (small) b.graph.add(Op::kConcatenate, {x, same ? y : x}, {{Attr::kAxis, {0}}});
        break;
    }
  }
  for (int i = pick(1, 6); i-- > 0;) b.graph.outputs.push_back(pick(0, b.graph.size() - 1));
  return std::move(b.graph);
}

/// Pairs up outputs and inputs of one type, each at most once.
void add_random_updates(Graph& graph) {
  std::vector<bool> taken(graph.inputs.size(), false);
  for (std::size_t o = 0; o < graph.outputs.size(); ++o) {
    for (std::size_t j = 0; j < graph.inputs.size(); ++j) {
      const bool fits = graph[graph.outputs[o]].type == graph[graph.inputs[j]].type;
      if (!fits || taken[j] || pick(0, 7) == 0) continue;
      graph.updates.push_back({static_cast<std::int32_t>(o), static_cast<std::int32_t>(j)});
      taken[j] = true;
      break;
    }
  }
}

/// Temporaries of any size move to outputs that are not yet written, or none does.
MemoryQuery with_moves(MemoryQuery query) {
  if (pick(0, 1) == 1) query.min_moved_bytes = 1;
  return query;
}

bool has_moves(const Graph& graph, const MemoryPlan& plan, MemoryQuery query) {
  query.min_moved_bytes = MemoryQuery{}.min_moved_bytes;
  return plan.arena_bytes < plan_memory(graph, query).arena_bytes;
}

RC_GTEST_PROP(MemoryPlanProperty, NoLiveValueIsOverwritten, ()) {
  Graph graph = random_graph();
  add_random_updates(graph);
  const auto seed = static_cast<std::size_t>(pick(0, 1000));
  const MemoryQuery query = with_moves(
      {[&](ValueId id) {
         return (static_cast<std::size_t>(id) * 7 + seed) % 5 == 0 ? std::int64_t{id} * 4 : 0;
       },
       [&](ValueId id, std::size_t, std::size_t i) {
         return is_elementwise(graph[id].op) &&
                (static_cast<std::size_t>(id) * 3 + i + seed) % 4 > 0;
       }});
  const MemoryPlan plan = plan_memory(graph, query);
  const auto donations = std::count_if(plan.donated_inputs.begin(), plan.donated_inputs.end(),
                                       [](std::int32_t j) { return j >= 0; });
  const auto views = std::count(plan.is_view.begin(), plan.is_view.end(), true);
  RC_CLASSIFY(donations > 0, "donates");
  RC_CLASSIFY(views > 1, "has views");
  RC_CLASSIFY(has_moves(graph, plan, query), "has temporaries in outputs");
  testing::MemoryOracle(graph, plan, query).run();
}

/// `query` with bundles of elementwise ops and groups, and chains of what is left: any two
/// commands that depend on each other may be one, since all of it has two tasks of half the bytes.
std::pair<CommandBundles, MemoryQuery> with_bundles(const Graph& graph, MemoryQuery query) {
  const auto kind = [&](ValueId id) -> std::string {
    return is_elementwise(graph[id].op) || graph[id].op == Op::kFusion ? "elementwise" : "";
  };
  const auto half = [&graph](ValueId id) {
    return static_cast<std::int64_t>(graph[id].type.bytes()) / 2;
  };
  const ChainQuery chains{
      [](ValueId) { return std::int64_t{2}; },
      [&](ValueId id, std::size_t i) { return half(graph[id].operands[i]); },
      [&](ValueId id, std::size_t k) { return half(id + static_cast<ValueId>(k)); }};
  const CommandBundles bundles = find_bundles(graph, {kind, query.scratch_bytes});
  return {find_chains(graph, bundles, chains), std::move(query)};
}

bool has_bundles(const CommandBundles& bundles) {
  return bundles.first != bundles.last;
}

RC_GTEST_PROP(MemoryPlanProperty, CommandsThatRunAtOnceAreKeptApart, ()) {
  Graph graph = random_graph();
  add_random_updates(graph);
  auto [bundles, query] = with_bundles(
      graph, {[](ValueId id) { return id % 5 == 0 ? std::int64_t{id} * 4 : 0; },
              [&](ValueId id, std::size_t, std::size_t) { return is_elementwise(graph[id].op); }});
  query = with_moves(query);
  query.bundles = &bundles;
  const MemoryPlan plan = plan_memory(graph, query);
  RC_CLASSIFY(has_bundles(bundles), "has bundles");
  testing::MemoryOracle(graph, plan, query).run();
  query.bundles = nullptr;
  RC_ASSERT(plan.donated_inputs == plan_memory(graph, query).donated_inputs);
}

RC_GTEST_PROP(MemoryPlanProperty, CommandsOfCompiledGraphsThatRunAtOnceAreKeptApart,
              (std::uint64_t seed)) {
  const Graph graph = run_pipeline(testing::random_graph(seed, pick(5, 60)).graph, Target{},
                                   PassOptions{}, Log::null());
  auto [bundles, query] = with_bundles(
      graph, {[](ValueId id) { return id % 7 == 0 ? 100 : 0; },
              [&](ValueId id, std::size_t, std::size_t) { return graph[id].op == Op::kFusion; }});
  query = with_moves(query);
  query.bundles = &bundles;
  RC_CLASSIFY(has_bundles(bundles), "has bundles");
  testing::MemoryOracle(graph, plan_memory(graph, query), query).run();
}

RC_GTEST_PROP(MemoryPlanProperty, PlansOfCompiledGraphsAreSafe, (std::uint64_t seed)) {
  const Graph graph = run_pipeline(testing::random_graph(seed, pick(5, 60)).graph, Target{},
                                   PassOptions{}, Log::null());
  const MemoryQuery query = with_moves({[](ValueId id) { return id % 7 == 0 ? 100 : 0; },
                                        [&](ValueId id, std::size_t result, std::size_t) {
                                          return graph[id].op == Op::kFusion &&
                                                 (id + static_cast<ValueId>(result)) % 4 > 0;
                                        }});
  testing::MemoryOracle(graph, plan_memory(graph, query), query).run();
}

}  // namespace
}  // namespace lockstep
