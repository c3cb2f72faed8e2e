// Mistakes that compilers make, planted: what the differential test must catch.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/ir/graph.h"
#include "tests/differential/spoiled_plan.h"

namespace lockstep::testing {

struct Miscompile {
  std::string_view name;
  /// A pass that is wrong: the graph with one mistake at its first chance; nothing if there is
  /// none.
  std::optional<Graph> (*pass)(const Graph& graph) = nullptr;
  /// A kernel or a memory plan that is wrong: false if there is no chance.
  bool (*spoil)(SpoiledPlan& plan) = nullptr;
};

/// Made by a wrong pass (miscompiled_passes.cpp).
std::vector<Miscompile> miscompiled_passes();
/// Made by wrong kernels, groups or plans (miscompiled_plans.cpp).
std::vector<Miscompile> miscompiled_plans();

}  // namespace lockstep::testing
