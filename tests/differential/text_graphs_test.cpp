// The graphs in tests, in text form or in .ir files, give the same results compiled and by the
// reference.
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/ir/text.h"
#include "core/ir/verify.h"
#include "tests/core/ir/every_op.h"
#include "tests/differential/both_ways.h"
#include "tests/fixtures/file_contents.h"
#include "tests/fixtures/host_functions.h"
#include "tests/graphs/random_steps.h"

namespace lockstep::testing {
namespace {

constexpr int kMinGraphs = 60;

struct TextGraph {
  std::string place;
  Graph graph;
};

/// A text that is a valid graph which one rank can run, without what only passes make.
std::optional<Graph> runnable_graph(const std::string& text) {
  try {
    Graph graph = parse(text, "test");
    verify(graph, "parse");
    require_host_functions(graph, only_reverse());
    for (const Node& node : graph.nodes) {
      if (is_made_by_passes(node.op)) return std::nullopt;
      if (node.attrs.has(Attr::kRanks) && node.attrs.integer(Attr::kRanks) != 1)
        return std::nullopt;
      if (node.attrs.has(Attr::kRoot) && node.attrs.integer(Attr::kRoot) != 0) return std::nullopt;
      if (node.type.elements() > 1 << 22) return std::nullopt;
    }
    if (graph.outputs.empty()) return std::nullopt;
    return graph;
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// All .ir files under tests, and all raw strings in sources there that are graphs.
std::vector<TextGraph> find_text_graphs() {
  std::vector<TextGraph> out;
  const auto add = [&](const std::string& place, const std::string& text) {
    if (std::optional<Graph> graph = runnable_graph(text))
      out.push_back({place, std::move(*graph)});
  };
  const std::filesystem::path tests = std::filesystem::path(LOCKSTEP_SOURCE_DIR) / "tests";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(tests)) {
    const std::filesystem::path& path = entry.path();
    if (path.extension() == ".ir") add(path.string(), contents_of(path));
    if (path.extension() != ".cpp") continue;
    const std::string source = contents_of(path);
    std::size_t at = 0;
    for (int number = 0; (at = source.find("R\"(", at)) != std::string::npos; ++number) {
      const std::size_t end = source.find(")\"", at);
      if (end == std::string::npos) break;
      add(path.string() + " #" + std::to_string(number), source.substr(at + 3, end - at - 3));
      at = end;
    }
  }
  return out;
}

TEST(TextGraphs, GiveTheSameCompiledAndByTheReference) {
  const std::vector<TextGraph> graphs = find_text_graphs();
  EXPECT_GE(graphs.size(), kMinGraphs);
  RecordProperty("graphs", static_cast<int>(graphs.size()));
  for (const TextGraph& text : graphs) {
    for (const std::uint64_t seed : {1, 2}) {
      const std::string wrong = compare_both_ways(text.graph, plain_inputs(text.graph, seed));
      EXPECT_EQ(wrong, "") << text.place << "\n" << print(text.graph);
    }
  }
}

/// Every op at once, each an output; without those for several ranks, and without the gradient of
/// attention, whose operand there is no result of the same attention.
TEST(TextGraphs, EveryOpGivesTheSameCompiledAndByTheReference) {
  Graph graph = parse(kEveryOp, "every_op.ir");
  graph.outputs.clear();
  for (ValueId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (is_made_by_passes(node.op) || is_collective(node.op) || node.op == Op::kAttentionGrad)
      continue;
    graph.outputs.push_back(id);
  }
  std::vector<bool> keep = find_reachable(graph);
  for (const ValueId input : graph.inputs) keep[static_cast<std::size_t>(input)] = true;
  graph = keep_only(std::move(graph), keep);
  for (const std::uint64_t seed : {1, 2, 3})
    EXPECT_EQ(compare_both_ways(graph, plain_inputs(graph, seed)), "");
}

}  // namespace
}  // namespace lockstep::testing
