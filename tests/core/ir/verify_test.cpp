#include "core/ir/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/base/error.h"
#include "core/ir/text.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kValid = R"(
%0 = f32[2] input() {kind=state}
%1 = f32[] constant() {value=2}
%2 = f32[2] broadcast(%1) {shape=[2], dims=[]}
%3 = f32[2] multiply(%0, %2)
%4 = f32[2] fusion(%3, %2) {shape=[2], axis=1} body {
  %0 = f32[2] input()
  %1 = f32[2] input()
  %2 = f32[2] add(%0, %1)
  return %2
}
return %3, %4
update 0 -> %0
)";

/// The message of verify after `plant` damaged a valid graph.
std::string verdict(const std::function<void(Graph&)>& plant) {
  Graph graph = parse(kValid, "t.ir");
  plant(graph);
  try {
    verify(graph, "fuse");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInternal);
    return error.what();
  }
  return "valid";
}

void edit_body(Graph& graph, const std::function<void(Graph&)>& edit) {
  Graph body = *graph[4].body;
  edit(body);
  graph.nodes[4].body = std::make_shared<const Graph>(std::move(body));
}

TEST(Verify, AcceptsAValidGraph) {
  EXPECT_EQ(verdict([](Graph&) {}), "valid");
}

TEST(Verify, NamesPassRuleAndNode) {
  const std::string message = verdict([](Graph& g) { g.nodes[3].type.shape = Shape{3}; });
  EXPECT_EQ(message,
            "the graph after 'fuse' breaks the rule 'type': the type should be f32[2]\n"
            "  %3 = f32[3] multiply(%0, %2)");
}

struct Violation {
  const char* rule;
  std::function<void(Graph&)> plant;
};

TEST(Verify, FindsEveryPlantedViolation) {
  const std::vector<Violation> violations = {
      {"order", [](Graph& g) { g.nodes[3].operands[0] = 4; }},
      {"order", [](Graph& g) { g.nodes[3].operands[0] = kNoValue; }},
      {"attributes",
       [](Graph& g) {
         g.nodes[2].attrs = {{Attr::kShape, {2}}};
       }},
      {"attributes", [](Graph& g) { g.nodes[3].attrs.set_int(Attr::kAxis, 0); }},
      {"type", [](Graph& g) { g.nodes[3].operands.pop_back(); }},
      {"type", [](Graph& g) { g.nodes[3].operands[1] = 1; }},
      {"type", [](Graph& g) { g.nodes[1].operands = {0}; }},
      {"literal", [](Graph& g) { g.nodes[1].literal = HostTensor(); }},
      {"literal", [](Graph& g) { g.nodes[1].literal = HostTensor::scalar(1); }},
      {"literal", [](Graph& g) { g.nodes[3].literal = HostTensor::scalar(1.0F); }},
      {"body", [](Graph& g) { g.nodes[4].body = nullptr; }},
      {"body", [](Graph& g) { g.nodes[3].body = g.nodes[4].body; }},
      {"body", [](Graph& g) { g.nodes[4].operands[1] = 1; }},
      {"body", [](Graph& g) { g.nodes[4].operands.pop_back(); }},
      {"body", [](Graph& g) { g.nodes[4].type.shape = Shape{3}; }},
      {"group", [](Graph& g) { edit_body(g, [](Graph& b) { b.outputs.push_back(0); }); }},
      {"group", [](Graph& g) { g.nodes[4].attrs.set_int(Attr::kAxis, 2); }},
      {"body", [](Graph& g) { edit_body(g, [](Graph& b) {
                                b.updates.push_back({0, 0});
                              }); }},
      {"type", [](Graph& g) { edit_body(g, [](Graph& b) { b.nodes[2].operands.pop_back(); }); }},
      {"group",
       [](Graph& g) { edit_body(g, [](Graph& b) { b.add(Op::kOptimizationBarrier, {0}); }); }},
      {"inputs", [](Graph& g) { g.inputs.clear(); }},
      {"inputs",
       [](Graph& g) {
         g.inputs = {0, 0};
       }},
      {"inputs",
       [](Graph& g) {
         g.inputs = {0, 1};
       }},
      {"inputs",
       [](Graph& g) {
         g.inputs = {0, 77};
       }},
      {"outputs", [](Graph& g) { g.outputs[0] = 5; }},
      {"updates", [](Graph& g) { g.updates[0].output = 2; }},
      {"updates", [](Graph& g) { g.updates[0].input = 1; }},
      {"updates",
       [](Graph& g) {
         g.updates.push_back({1, 0});
       }},
      {"updates", [](Graph& g) { g.outputs[0] = 1; }},
  };
  for (std::size_t i = 0; i < violations.size(); ++i)
    EXPECT_THAT(verdict(violations[i].plant),
                HasSubstr("breaks the rule '" + std::string(violations[i].rule) + "'"))
        << "violation " << i;
}

}  // namespace
}  // namespace lockstep
