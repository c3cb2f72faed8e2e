// Planted mistakes that compilers make, which the differential test must catch.
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
  /// A wrong pass: the graph with one mistake at its first chance; nothing if there is no chance.
  std::optional<Graph> (*pass)(const Graph& graph) = nullptr;
  /// A wrong kernel or memory plan: false if there is no chance.
  bool (*spoil)(SpoiledPlan& plan) = nullptr;
};

/// Mistakes of a pass (miscompiled_passes.cpp).
std::vector<Miscompile> miscompiled_passes();
/// Mistakes of kernels, groups or plans (miscompiled_plans.cpp).
std::vector<Miscompile> miscompiled_plans();

}  // namespace lockstep::testing
