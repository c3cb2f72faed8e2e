// Every random graph gives the right values when compiled; and the graphs cover all cases.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>

#include "tests/differential/differential.h"
#include "tests/graphs/random_steps.h"

namespace lockstep::testing {
namespace {

constexpr int kMinOccurrences = 20;
constexpr int kMinMedian = 25;

/// What stands in the graphs, counting only nodes that an output depends on.
struct Coverage {
  std::map<Op, int> ops;
  std::map<DType, int> dtypes;
  std::vector<int> sizes;
  int with_empty_values = 0;
  int with_updates = 0;

  void count(const Graph& graph) {
    const std::vector<bool> live = find_reachable(graph);
    bool empty = false;
    for (ValueId id = 0; id < graph.size(); ++id) {
      if (!live[static_cast<std::size_t>(id)]) continue;
      ++ops[graph[id].op];
      ++dtypes[graph[id].type.dtype];
      empty = empty || graph[id].type.elements() == 0;
    }
    sizes.push_back(static_cast<int>(std::ranges::count(live, true)));
    with_empty_values += empty ? 1 : 0;
    with_updates += graph.updates.empty() ? 0 : 1;
  }
  int median() {
    std::ranges::nth_element(sizes, sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2));
    return sizes[sizes.size() / 2];
  }
};

TEST(RandomGraphs, AreTheSameCompiledAndByTheirDefinition) {
  const auto start = std::chrono::steady_clock::now();
  int failed = 0;
  for (int i = 0; i < campaign().graphs; ++i) {
    if (campaign().announce) std::cout << "graph " << i << std::endl;
    const rc::Shrinkable<RandomGraph> graph = campaign_graph(i);
    const std::string wrong = find_failure(graph.value());
    if (wrong.empty()) continue;
    const RandomGraph small =
        shrink(graph, [](const RandomGraph& g) { return !find_failure(g).empty(); });
    ADD_FAILURE() << "graph " << i << " of --seed=" << campaign().seed << ": " << wrong
                  << "\nsmallest: " << find_failure(small) << "\n"
                  << small;
    if (++failed == 5) break;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::cout << campaign().graphs << " graphs from seed " << campaign().seed << ": " << failed
            << " wrong, " << seconds.count() << " s\n";
}

TEST(RandomGraphs, LeaveNoOpAndNoDTypeOut) {
  Coverage coverage;
  const int graphs = std::max(campaign().graphs, Campaign{}.graphs);
  for (int i = 0; i < graphs; ++i) coverage.count(campaign_graph(i).value().graph);
  for (const OpInfo& info : op_table()) {
    const Op op = info.op;
    if (is_made_by_passes(op)) continue;
    EXPECT_GE(coverage.ops[op], kMinOccurrences) << name_of(op);
    RecordProperty(std::string(name_of(op)), coverage.ops[op]);
  }
  for (int i = 0; i <= static_cast<int>(DType::kBool); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_GE(coverage.dtypes[dtype], kMinOccurrences) << name_of(dtype);
    RecordProperty(std::string(name_of(dtype)), coverage.dtypes[dtype]);
  }
  EXPECT_GE(coverage.with_empty_values, kMinOccurrences);
  EXPECT_GE(coverage.with_updates, kMinOccurrences);
  EXPECT_GE(coverage.median(), kMinMedian);
  const auto rarest = std::ranges::min_element(coverage.ops, {}, [](const auto& entry) {
    return is_made_by_passes(entry.first) ? 1 << 30 : entry.second;
  });
  std::cout << graphs << " graphs: median " << coverage.median() << " nodes, rarest op "
            << name_of(rarest->first) << " " << rarest->second << " times, "
            << coverage.with_empty_values << " graphs with empty values, " << coverage.with_updates
            << " with updates\n";
}

}  // namespace
}  // namespace lockstep::testing
