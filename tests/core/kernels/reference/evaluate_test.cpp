#include "tests/core/kernels/reference/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/reduce_tree.h"
#include "core/base/rng.h"
#include "core/ir/text.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

const Type kVector2{DType::kF32, Shape{2}};

TEST(ReferenceRandomBits, IsThePhiloxSequence) {
  const HostTensor bits = evaluate(Op::kRandomBits, {i64_scalar(1), i64_scalar(2), i64_scalar(3)},
                                   {{Attr::kShape, {2, 5}}, {Attr::kStream, {42}}});
  const RngKey key{.seed = 1, .stream = 42, .step = 2, .micro_batch = 3};
  for (std::size_t i = 0; i < 10; ++i)
    EXPECT_EQ(static_cast<std::uint32_t>(bits.as<std::int32_t>()[i]), random_word(key, i));
}

TEST(ReferenceGraph, EvaluatesOutputsInOrderAndRepeated) {
  Graph graph;
  const ValueId x = graph.add_input(kVector2, InputKind::kState, "x");
  const ValueId two = graph.add_constant(f32({2, 2}));
  const ValueId y = graph.add(Op::kMultiply, {x, two});
  graph.outputs = {y, x, y};
  const std::vector<HostTensor> out = evaluate_reference(graph, std::vector{f32({1, 3})});
  ASSERT_EQ(out.size(), 3U);
  EXPECT_THAT(to_doubles(out[0]), ElementsAre(2, 6));
  EXPECT_THAT(to_doubles(out[1]), ElementsAre(1, 3));
  EXPECT_THAT(to_doubles(out[2]), ElementsAre(2, 6));
}

TEST(ReferenceGraph, EvaluatesBodies) {
  auto body = std::make_shared<Graph>();
  const ValueId a = body->add_input(kVector2, InputKind::kState, "a");
  const ValueId b = body->add_input(kVector2, InputKind::kState, "b");
  body->outputs = {body->add(Op::kSubtract, {a, b})};
  for (const Op op : {Op::kCall, Op::kFusion}) {
    Graph graph;
    const ValueId x = graph.add_input(kVector2, InputKind::kState, "x");
    const ValueId y = graph.add_input(kVector2, InputKind::kState, "y");
    Node call;
    call.op = op;
    call.type = kVector2;
    call.operands = {y, x};
    call.body = body;
    graph.outputs = {graph.add(Op::kOptimizationBarrier, {graph.append(call)})};
    EXPECT_THAT(to_doubles(evaluate_reference(graph, std::vector{f32({1, 2}), f32({5, 9})})[0]),
                ElementsAre(4, 7));
  }
}

TEST(ReferenceGraph, EvaluatesAllResultsOfAGroup) {
  const Graph graph = parse(R"(
    %x = f32[2,2] input()
    %g = f32[2,2] fusion(%x) {shape=[2,2], axis=1} body {
      %x = f32[2,2] input() %n = f32[2,2] negate(%x) %s = f32[2] reduce_sum(%n) {dims=[1]}
      %m = f32[2] reduce_max(%x) {dims=[1]} return %n, %s, %m }
    %s = f32[2] group_result(%g) {index=1} %m = f32[2] group_result(%g) {index=2}
    %d = f32[2] subtract(%m, %s) return %d, %m)",
                            "t.ir");
  const auto out = evaluate_reference(
      graph, std::vector{HostTensor::of<float>({2, 2}, std::vector<float>{1, 2, 3, 5})});
  EXPECT_THAT(to_doubles(out[0]), ElementsAre(5, 13));
  EXPECT_THAT(to_doubles(out[1]), ElementsAre(2, 5));
}

TEST(ReferenceGraph, RoundsAfterEveryNode) {
  Graph graph;
  const ValueId x = graph.add_input({DType::kF32, Shape{}}, InputKind::kState, "x");
  const ValueId one = graph.add_constant(HostTensor::scalar(1.0F));
  graph.outputs = {graph.add(Op::kSubtract, {graph.add(Op::kAdd, {x, one}), one})};
  const HostTensor tiny = HostTensor::scalar(0x1p-30F);
  EXPECT_EQ(to_doubles(evaluate_reference(graph, std::vector{tiny})[0])[0], 0);
  const HostTensor wide = HostTensor::scalar(0x1p-30);
  EXPECT_EQ(to_doubles(evaluate_reference(to_f64(graph), std::vector{wide})[0])[0], 0x1p-30);
}

TEST(ReferenceGraph, RefusesInputsThatDoNotFit) {
  Graph graph;
  graph.outputs = {graph.add_input(kVector2, InputKind::kState, "x")};
  const auto message = [&](const std::vector<HostTensor>& inputs) -> std::string {
    try {
      evaluate_reference(graph, inputs);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message({}), "the graph takes 1 inputs, 0 are given");
  EXPECT_EQ(message({i32({1, 2})}), "input 0 'x' is f32[2], but i32[2] was given");
}

TEST(ToF64, WidensFloatsEverywhere) {
  auto body = std::make_shared<Graph>();
  body->outputs = {body->add_input(kVector2, InputKind::kState, "a")};
  Graph graph;
  const ValueId x = graph.add_input(kVector2, InputKind::kState, "x");
  const ValueId half = graph.add_constant(tensor(DType::kBF16, {2}, {0.5, 1.5}));
  Attrs to_f32;
  to_f32.set_dtype(DType::kF32);
  Attrs to_i32;
  to_i32.set_dtype(DType::kI32);
  const ValueId converted = graph.add(Op::kConvert, {half}, to_f32);
  const ValueId integer = graph.add(Op::kConvert, {x}, to_i32);
  Node call;
  call.op = Op::kCall;
  call.type = kVector2;
  call.operands = {converted};
  call.body = body;
  const ValueId called = graph.append(call);
  graph.outputs = {called, integer};

  const Graph wide = to_f64(graph);
  const Type wide_vector{DType::kF64, Shape{2}};
  EXPECT_EQ(wide[x].type, wide_vector);
  EXPECT_EQ(wide[half].type, wide_vector);
  EXPECT_THAT(wide[half].literal.as<double>(), ElementsAre(0.5, 1.5));
  EXPECT_EQ(wide[converted].attrs.dtype(), DType::kF64);
  EXPECT_EQ(wide[integer].type.dtype, DType::kI32);
  EXPECT_EQ(wide[called].body->nodes[0].type, wide_vector);
  EXPECT_EQ(graph[x].type, kVector2);
  EXPECT_THAT(to_doubles(evaluate_reference(wide, std::vector{f64({2}, {7, 8})})[0]),
              ElementsAre(0.5, 1.5));
}

/// Outputs of one collective of `x[r]` at every rank r.
std::vector<std::vector<double>> on_ranks(Op op, const std::vector<HostTensor>& x, Attrs attrs) {
  Graph graph;
  const Type type{x[0].dtype(), x[0].shape()};
  graph.outputs = {
      graph.add(op, {graph.add_input(type, InputKind::kState, "x")}, std::move(attrs))};
  std::vector<std::vector<HostTensor>> inputs;
  for (const HostTensor& own : x) inputs.push_back({own});
  std::vector<std::vector<double>> out;
  for (const std::vector<HostTensor>& rank : evaluate_reference_ranks(graph, inputs))
    out.push_back(to_doubles(rank[0]));
  return out;
}

TEST(ReferenceCollective, EveryRankGetsItsPart) {
  const std::vector<HostTensor> x = {f32({1, 2}), f32({10, 20})};
  EXPECT_THAT(on_ranks(Op::kAllReduce, x, {}),
              ElementsAre(ElementsAre(11, 22), ElementsAre(11, 22)));
  EXPECT_THAT(on_ranks(Op::kReduceScatter, x, {{Attr::kRanks, {2}}}),
              ElementsAre(ElementsAre(11), ElementsAre(22)));
  EXPECT_THAT(on_ranks(Op::kAllGather, x, {{Attr::kRanks, {2}}}),
              ElementsAre(ElementsAre(1, 2, 10, 20), ElementsAre(1, 2, 10, 20)));
  EXPECT_THAT(on_ranks(Op::kCollectiveBroadcast, x, {{Attr::kRoot, {1}}}),
              ElementsAre(ElementsAre(10, 20), ElementsAre(10, 20)));
}

TEST(ReferenceCollective, OneRankKeepsItsValue) {
  EXPECT_THAT(values(Op::kAllReduce, {f32({1, 2})}), ElementsAre(1, 2));
  EXPECT_THAT(values(Op::kReduceScatter, {f32({1, 2})}, {{Attr::kRanks, {1}}}), ElementsAre(1, 2));
  EXPECT_THAT(values(Op::kAllGather, {f32({1, 2})}, {{Attr::kRanks, {1}}}), ElementsAre(1, 2));
  EXPECT_THAT(values(Op::kCollectiveBroadcast, {f32({1, 2})}, {{Attr::kRoot, {0}}}),
              ElementsAre(1, 2));
  EXPECT_THAT(values(Op::kReplicaId, {}), ElementsAre(0));
}

TEST(ReferenceCollective, SumsInTheFixedTree) {
  // (1 + 2^-24) + 2^-24 rounds to 1 twice; the tree's right half 2^-24 + 2^-24 is not lost.
  const std::vector<HostTensor> x = {f32({1}), f32({0}), f32({0x1p-24}), f32({0x1p-24})};
  EXPECT_THAT(on_ranks(Op::kAllReduce, x, {})[3], ElementsAre(1 + 0x1p-23));
  const std::vector<HostTensor> three = {f32({1}), f32({0x1p-24}), f32({0x1p-24})};
  EXPECT_THAT(on_ranks(Op::kAllReduce, three, {})[0], ElementsAre(1));
}

TEST(ReferenceCollective, ReplicaIdIsTheRank) {
  Graph graph;
  graph.outputs = {graph.add(Op::kReplicaId, {})};
  const auto out = evaluate_reference_ranks(graph, std::vector<std::vector<HostTensor>>(3));
  EXPECT_EQ(out[2][0].as<std::int32_t>()[0], 2);
}

TEST(ReferenceCollective, RefusesAnotherNumberOfRanks) {
  try {
    values(Op::kAllGather, {f32({1, 2})}, {{Attr::kRanks, {4}}});
    FAIL() << "was accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "all_gather is for 4 ranks, but 1 take part");
  }
}

}  // namespace
}  // namespace lockstep
