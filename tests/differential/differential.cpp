#include "tests/differential/differential.h"

#include <algorithm>
#include <string_view>

#include "core/base/error.h"
#include "core/kernels/kernel_cache.h"
#include "tests/fixtures/host_functions.h"
#include "tests/fixtures/same_bits.h"
#include "tests/fixtures/tested_target.h"
#include "trainer/cli/run_graph.h"

namespace lockstep::testing {
namespace {

Campaign& mutable_campaign() {
  static Campaign instance;
  return instance;
}

/// As in an engine, a kernel that several graphs have is generated once: the miscompiled graphs
/// differ little from the others.
LoadedPlan compile_sharing(const Graph& graph) {
  constexpr std::size_t kMostKept =
      20'000;  // each takes mappings of memory, of which there are few
  static KernelCache kernels(tested_target());
  static std::vector<std::shared_ptr<const Kernel>> kept;  // else the cache drops them
  LoadedPlan plan = compile_graph(graph, tested_target(), kernels, Log::null(), only_reverse());
  if (kept.size() + plan.kernels.size() > kMostKept) kept.clear();
  kept.insert(kept.end(), plan.kernels.begin(), plan.kernels.end());
  return plan;
}

}  // namespace

const Campaign& campaign() {
  return mutable_campaign();
}

void read_campaign(int argc, char** argv) {
  Campaign& c = mutable_campaign();
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const auto number = [&](std::string_view name) {
      return std::stoull(std::string(argument.substr(name.size())));
    };
    if (argument.starts_with("--graphs=")) {
      c.graphs = static_cast<int>(number("--graphs="));
    } else if (argument.starts_with("--seed=")) {
      c.seed = number("--seed=");
    } else if (argument == "--announce") {
      c.announce = true;
    } else {
      raise(ErrorKind::kUsage, "unknown argument '{}'", argument);
    }
  }
}

rc::Shrinkable<RandomGraph> campaign_graph(int number) {
  const std::uint64_t seed = campaign().seed + static_cast<std::uint64_t>(number);
  return random_graphs()(rc::Random(seed), rc::kNominalSize);
}

std::string find_disagreement(const RandomGraph& graph, const Graph& compiled, const Spoil& spoil) {
  const auto estimates = estimate_graph(graph.graph, graph.inputs);
  LS_CHECK(estimates.has_value(), "the graph cannot be compared");
  LoadedPlan plan = compile_sharing(compiled);
  if (spoil) {
    SpoiledPlan spoiled{*plan.plan, plan.kernels};
    if (!spoil(spoiled)) return "";
    plan.kernels = spoiled.kernels;
    plan.plan = std::make_shared<const Plan>(std::move(spoiled));
  }
  const std::vector<HostTensor> outputs = run_plan_on_host(plan, graph.inputs, 1);
  const std::vector<HostTensor> again = run_plan_on_host(plan, graph.inputs, 2);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (!same_bits(outputs[i], again[i]))
      return fmt::format("output {} depends on the number of threads", i);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const ValueId id = graph.graph.outputs[i];
    const std::string wrong = find_error((*estimates)[static_cast<std::size_t>(id)], outputs[i]);
    if (!wrong.empty()) return fmt::format("output {} (%{}): {}", i, id, wrong);
  }
  return "";
}

std::string find_failure(const RandomGraph& graph) {
  try {
    return find_disagreement(graph, graph.graph);
  } catch (const Error& error) {
    return error.what();
  }
}

RandomGraph shrink(const rc::Shrinkable<RandomGraph>& failing,
                   const std::function<bool(const RandomGraph&)>& fails) {
  constexpr int kMaxTries = 2000;
  rc::Shrinkable<RandomGraph> smallest = failing;
  int tries = 0;
  for (bool smaller = true; smaller && tries < kMaxTries;) {
    smaller = false;
    rc::Seq<rc::Shrinkable<RandomGraph>> shrinks = smallest.shrinks();
    for (auto next = shrinks.next(); next && tries < kMaxTries; next = shrinks.next(), ++tries) {
      if (!fails(next->value())) continue;
      smallest = *next;
      smaller = true;
      break;
    }
  }
  return smallest.value();
}

}  // namespace lockstep::testing
