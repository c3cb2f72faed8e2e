// The differential test catches every planted miscompile within the graphs of the usual campaign.
#include "tests/differential/miscompiles.h"

#include <gtest/gtest.h>

#include <ostream>

#include "tests/differential/differential.h"

namespace lockstep::testing {

void PrintTo(const Miscompile& miscompile, std::ostream* out) {
  *out << miscompile.name;
}

namespace {

class PlantedMiscompile : public ::testing::TestWithParam<Miscompile> {};

TEST_P(PlantedMiscompile, IsCaught) {
  int tried = 0;
  for (int i = 0; i < Campaign{}.graphs; ++i) {
    const RandomGraph graph = campaign_graph(i).value();
    std::optional<Graph> compiled = graph.graph;
    if (GetParam().pass != nullptr) compiled = GetParam().pass(graph.graph);
    if (!compiled) continue;
    bool planted = GetParam().pass != nullptr;
    const auto spoil = [&](SpoiledPlan& plan) {
      return GetParam().spoil == nullptr || (planted = GetParam().spoil(plan));
    };
    const std::string wrong = find_disagreement(graph, *compiled, spoil);
    tried += planted ? 1 : 0;
    if (wrong.empty()) continue;
    RecordProperty("planted_in_graphs_until_caught", tried);
    return;
  }
  FAIL() << "planted in " << tried << " graphs, never caught";
}

std::string test_name(const ::testing::TestParamInfo<Miscompile>& info) {
  return std::string(info.param.name);
}

INSTANTIATE_TEST_SUITE_P(Pass, PlantedMiscompile, ::testing::ValuesIn(miscompiled_passes()),
                         test_name);
INSTANTIATE_TEST_SUITE_P(Plan, PlantedMiscompile, ::testing::ValuesIn(miscompiled_plans()),
                         test_name);

}  // namespace
}  // namespace lockstep::testing
