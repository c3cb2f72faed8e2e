#include "core/passes/memory_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/ir/text.h"
#include "tests/core/passes/memory_graphs.h"
#include "tests/core/passes/memory_oracle.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using testing::MemoryGraph;

MemoryQuery never_in_place() {
  return {[](ValueId) { return 0; }, [](ValueId, std::size_t, std::size_t) { return false; }};
}
MemoryQuery elementwise_in_place(const Graph& graph) {
  return {[](ValueId) { return 0; },
          [&graph](ValueId id, std::size_t, std::size_t) { return is_elementwise(graph[id].op); }};
}

MemoryPlan checked_plan(const Graph& graph, const MemoryQuery& query) {
  MemoryPlan plan = plan_memory(graph, query);
  testing::MemoryOracle(graph, plan, query).run();
  return plan;
}

/// Nodes `first` to `last` run at once.
CommandBundles bundle(const Graph& graph, ValueId first, ValueId last) {
  CommandBundles out(graph);
  for (ValueId id = first; id <= last; ++id) {
    out.first[static_cast<std::size_t>(id)] = first;
    out.last[static_cast<std::size_t>(id)] = last;
  }
  return out;
}

TEST(MemoryPlan, KeepsWhatCommandsThatRunAtOnceUseUntilTheyAreDone) {
  MemoryGraph b;
  const ValueId x = b.input(2);
  const ValueId p = b.copy(x);
  const ValueId q = b.copy(x);
  const ValueId r = b.negate(p);  // alone it would leave its operand's memory to the next
  const ValueId s = b.negate(q);
  b.graph.outputs = {b.copy(b.add(r, s))};
  MemoryQuery query = never_in_place();
  EXPECT_EQ(checked_plan(b.graph, query).arena_bytes, 3 * 128);
  const CommandBundles bundles = bundle(b.graph, r, s);
  query.bundles = &bundles;
  EXPECT_EQ(checked_plan(b.graph, query).arena_bytes, 4 * 128);
  query = elementwise_in_place(b.graph);
  query.bundles = &bundles;
  EXPECT_EQ(checked_plan(b.graph, query).arena_bytes, 2 * 128) << "each in place";
}

TEST(MemoryPlan, DoesNotOverwriteWhatIsReadAtTheSameTime) {
  MemoryGraph b;
  const ValueId x = b.input(2);
  const ValueId p = b.copy(x);
  const ValueId r = b.negate(p);
  const ValueId s = b.negate(p);
  b.graph.outputs = {b.copy(b.add(r, s))};
  MemoryQuery query = elementwise_in_place(b.graph);
  EXPECT_EQ(checked_plan(b.graph, query).values[static_cast<std::size_t>(s)].offset,
            checked_plan(b.graph, query).values[static_cast<std::size_t>(p)].offset);
  const CommandBundles bundles = bundle(b.graph, r, s);
  query.bundles = &bundles;
  EXPECT_EQ(checked_plan(b.graph, query).arena_bytes, 3 * 128);
}

TEST(MemoryPlan, GivesAnOutputItsOwnMemoryAndATemporaryTheArena) {
  MemoryGraph b;
  const ValueId x = b.input(2);
  const ValueId t = b.negate(x);
  const ValueId y = b.negate(t);
  b.graph.outputs = {y};
  const MemoryPlan plan = checked_plan(b.graph, never_in_place());
  EXPECT_EQ(plan.values[0], (Slot{SlotKind::kInput, 0, 0, 128}));
  EXPECT_EQ(plan.values[1], (Slot{SlotKind::kArena, 0, 0, 128}));
  EXPECT_EQ(plan.values[2], (Slot{SlotKind::kOutput, 0, 0, 128}));
  EXPECT_EQ(plan.arena_bytes, 128);
  EXPECT_EQ(plan.peak_bytes, 256);
  EXPECT_THAT(plan.copied_outputs, IsEmpty());
  EXPECT_THAT(plan.donated_inputs, ElementsAre(-1));
}

TEST(MemoryPlan, ReusesTheMemoryOfDeadTemporaries) {
  MemoryGraph b;
  ValueId x = b.input(4);
  for (int i = 0; i < 10; ++i) x = b.negate(x);
  b.graph.outputs = {x};
  EXPECT_EQ(checked_plan(b.graph, never_in_place()).arena_bytes, 2 * 256);
  b.graph.outputs = {b.copy(x)};
  EXPECT_EQ(checked_plan(b.graph, elementwise_in_place(b.graph)).arena_bytes, 256);
}

TEST(MemoryPlan, DoesNotComputeInPlaceOfAnOperandThatIsReadLater) {
  MemoryGraph b;
  const ValueId t = b.negate(b.input(1));
  const ValueId u = b.negate(t);
  b.graph.outputs = {b.negate(b.add(t, u))};
  const MemoryPlan plan = checked_plan(b.graph, elementwise_in_place(b.graph));
  EXPECT_NE(plan.values[1], plan.values[2]);
  EXPECT_EQ(plan.values[3], plan.values[1]);
}

TEST(MemoryPlan, MakesReshapesAndContiguousSlicesViews) {
  MemoryGraph b;
  const ValueId x = b.input(4);
  const ValueId rows = b.rows(x, 1, 3);
  const ValueId flat = b.flatten(rows);
  const ValueId row_part = b.slice(x, {2, 0}, {3, 5}, {1, 1});
  b.graph.outputs = {b.negate(flat), b.negate(row_part)};
  const MemoryPlan plan = checked_plan(b.graph, never_in_place());
  EXPECT_TRUE(plan.is_view[1]);
  EXPECT_EQ(plan.values[1], (Slot{SlotKind::kInput, 0, 64, 128}));
  EXPECT_TRUE(plan.is_view[2]);
  EXPECT_EQ(plan.values[2], plan.values[1]);
  EXPECT_TRUE(plan.is_view[3]);
  EXPECT_EQ(plan.values[3], (Slot{SlotKind::kInput, 0, 128, 20}));
}

TEST(MemoryPlan, CopiesSlicesThatAreStridedOrNotAligned) {
  MemoryGraph b;
  const ValueId x = b.input(4);
  b.slice(x, {0, 0}, {4, 8}, {1, 1});
  b.slice(x, {0, 0}, {4, 16}, {2, 1});
  b.slice(x, {0, 4}, {1, 8}, {1, 1});
  b.graph.outputs = {1, 2, 3};
  const MemoryPlan plan = checked_plan(b.graph, never_in_place());
  EXPECT_THAT(plan.is_view, ElementsAre(false, false, false, false));
}

TEST(MemoryPlan, KeepsAValueAliveWhileAViewOfItIsUsed) {
  MemoryGraph b;
  const ValueId x = b.input(2);
  const ValueId t = b.negate(x);
  const ValueId view = b.flatten(t);
  const ValueId u = b.copy(b.copy(x));
  b.graph.outputs = {b.add(b.flatten(u), view)};
  const MemoryPlan plan = checked_plan(b.graph, never_in_place());
  EXPECT_EQ(plan.arena_bytes, 3 * 128);
}

TEST(MemoryPlan, MakesBarriersViewsThatKeepNothingTheyWaitForAlive) {
  MemoryGraph b;
  const ValueId t = b.copy(b.input(2));
  const ValueId u = b.copy(b.input(2));
  const ValueId v = b.copy(u);
  const ValueId fence = b.barrier(t, u);
  b.graph.outputs = {b.add(b.copy(v), fence)};
  const MemoryPlan plan = checked_plan(b.graph, never_in_place());
  EXPECT_TRUE(plan.is_view[fence]);
  EXPECT_EQ(plan.values[fence], plan.values[t]);
  EXPECT_EQ(plan.arena_bytes, 3 * 128) << "u died before the last copy";
}

TEST(MemoryPlan, CopiesOutputsThatAreInputsConstantsViewsOrRepeated) {
  MemoryGraph b;
  const ValueId x = b.input(1);
  const ValueId c = b.graph.add_constant(HostTensor::scalar(1.0F));
  const ValueId y = b.negate(x);
  const ValueId view = b.flatten(y);
  b.graph.outputs = {x, c, y, view, y};
  const MemoryPlan plan = checked_plan(b.graph, never_in_place());
  EXPECT_THAT(plan.copied_outputs, ElementsAre(0, 1, 3, 4));
  EXPECT_EQ(plan.values[2], (Slot{SlotKind::kOutput, 2, 0, 64}));
  EXPECT_EQ(plan.values[3], (Slot{SlotKind::kOutput, 2, 0, 64}));
  EXPECT_EQ(plan.peak_bytes, 4 * 64 + 4);
}

TEST(MemoryPlan, ComputesAnOutputThatIsAViewOfAllOfAValueWhereItBelongs) {
  MemoryGraph b;
  const ValueId y = b.negate(b.input(1));
  const ValueId view = b.flatten(y);
  b.graph.outputs = {view, y};
  const MemoryPlan plan = checked_plan(b.graph, never_in_place());
  EXPECT_EQ(plan.values[y], (Slot{SlotKind::kOutput, 0, 0, 64}));
  EXPECT_EQ(plan.values[view], plan.values[y]);
  EXPECT_THAT(plan.copied_outputs, ElementsAre(1)) << "the value itself is another output";
}

TEST(MemoryPlan, WritesAnUpdateIntoItsInput) {
  MemoryGraph b;
  const ValueId x = b.input(1);
  const ValueId gradient = b.input(1);
  b.graph.outputs = {b.add(x, gradient)};
  b.graph.updates = {{0, 0}};
  const MemoryPlan plan = checked_plan(b.graph, elementwise_in_place(b.graph));
  EXPECT_THAT(plan.donated_inputs, ElementsAre(0));
  EXPECT_EQ(plan.peak_bytes, 0);
  EXPECT_THAT(checked_plan(b.graph, never_in_place()).donated_inputs, ElementsAre(-1));
}

TEST(MemoryPlan, WritesAnUpdateIntoItsInputIfItsCommandDoesNotReadIt) {
  MemoryGraph b;
  b.input(1);
  const ValueId gradient = b.input(1);
  b.graph.outputs = {b.negate(gradient)};
  b.graph.updates = {{0, 0}};
  EXPECT_THAT(checked_plan(b.graph, never_in_place()).donated_inputs, ElementsAre(0));
}

TEST(MemoryPlan, DoesNotOverwriteAnInputThatIsReadLater) {
  MemoryGraph b;
  const ValueId x = b.input(1);
  const ValueId view = b.flatten(x);
  const ValueId next = b.negate(x);
  b.graph.outputs = {next, b.negate(view)};
  b.graph.updates = {{0, 0}};
  EXPECT_THAT(checked_plan(b.graph, elementwise_in_place(b.graph)).donated_inputs,
              ElementsAre(-1, -1));
}

TEST(MemoryPlan, DoesNotOverwriteAnInputThatIsAnOutputToo) {
  MemoryGraph b;
  const ValueId x = b.input(1);
  b.graph.outputs = {b.negate(x), x};
  b.graph.updates = {{0, 0}};
  EXPECT_THAT(checked_plan(b.graph, elementwise_in_place(b.graph)).donated_inputs,
              ElementsAre(-1, -1));
}

TEST(MemoryPlan, DoesNotOverwriteAnInputThatItsCommandReadsInParts) {
  MemoryGraph b;
  const ValueId x = b.input(2);
  b.graph.outputs = {
      b.graph.add(Op::kConcatenate, {b.rows(x, 1, 2), b.rows(x, 0, 1)}, {{Attr::kAxis, {0}}})};
  b.graph.updates = {{0, 0}};
  const MemoryQuery eager{[](ValueId) { return 0; },
                          [](ValueId, std::size_t, std::size_t) { return true; }};
  EXPECT_THAT(checked_plan(b.graph, eager).donated_inputs, ElementsAre(-1));
}

/// Two operands that die in a group of two results, both made of both.
constexpr std::string_view kTwoResults = R"(
  %x = f32[16] input() %a = f32[16] negate(%x) %b = f32[16] abs(%x)
  %g = f32[16] fusion(%a, %b) {shape=[16], axis=1} body {
    %a = f32[16] input() %b = f32[16] input() %s = f32[16] add(%a, %b)
    %d = f32[16] subtract(%a, %b) return %s, %d }
  %h = f32[16] group_result(%g) {index=1}
  %1 = f32[16] exp(%g) %2 = f32[16] exp(%h) %3 = f32[16] add(%1, %2) return %3)";

TEST(MemoryPlan, GivesEveryResultOfAGroupMemoryOfItsOwn) {
  const Graph graph = parse(kTwoResults, "t.ir");
  const MemoryPlan plan = checked_plan(graph, never_in_place());
  EXPECT_EQ(plan.arena_bytes, 4 * 64);
  EXPECT_NE(plan.values[3], plan.values[4]);
}

TEST(MemoryPlan, WritesEveryResultOfAGroupOverAnotherOperand) {
  const Graph graph = parse(kTwoResults, "t.ir");
  const MemoryQuery in_place{[](ValueId) { return 0; },
                             [](ValueId, std::size_t, std::size_t) { return true; }};
  const MemoryPlan plan = checked_plan(graph, in_place);
  EXPECT_EQ(plan.arena_bytes, 64);  // the other is in the output's memory
  EXPECT_EQ(plan.values[3], plan.values[1]);
  EXPECT_EQ(plan.values[4], plan.values[2]);
}

TEST(MemoryPlan, AsksForEachPairOfResultAndOperand) {
  const Graph graph = parse(kTwoResults, "t.ir");
  const MemoryQuery only_crosswise{[](ValueId) { return 0; },
                                   [&](ValueId id, std::size_t result, std::size_t operand) {
                                     return graph[id].op == Op::kFusion && result != operand;
                                   }};
  const MemoryPlan plan = checked_plan(graph, only_crosswise);
  EXPECT_EQ(plan.values[3], plan.values[2]);
  EXPECT_EQ(plan.values[4], plan.values[1]);
}

TEST(MemoryPlan, DonatesToSeveralResultsOfAGroup) {
  const Graph graph = parse(R"(
    %p = f32[16] input() %m = f32[16] input() %g = f32[16] input()
    %next = f32[16] fusion(%p, %m, %g) {shape=[16], axis=1} body {
      %p = f32[16] input() %m = f32[16] input() %g = f32[16] input()
      %m1 = f32[16] add(%m, %g) %p1 = f32[16] subtract(%p, %m1) return %p1, %m1 }
    %m1 = f32[16] group_result(%next) {index=1}
    return %next, %m1 update 0 -> %p update 1 -> %m)",
                            "t.ir");
  const MemoryQuery in_place{[](ValueId) { return 0; },
                             [](ValueId, std::size_t, std::size_t) { return true; }};
  const MemoryPlan plan = checked_plan(graph, in_place);
  EXPECT_THAT(plan.donated_inputs, ElementsAre(0, 1));
  EXPECT_EQ(plan.arena_bytes, 0);
  EXPECT_EQ(checked_plan(graph, never_in_place()).donated_inputs[0], -1);
}

TEST(MemoryPlan, ComputesWhatAnOutputOverwritesInTheOutputsMemory) {
  MemoryGraph b;
  const ValueId x = b.input(4);
  b.graph.outputs = {b.negate(b.negate(b.copy(x)))};
  const MemoryPlan plan = checked_plan(b.graph, elementwise_in_place(b.graph));
  EXPECT_EQ(plan.arena_bytes, 0);
  EXPECT_EQ(plan.values[1].kind, SlotKind::kOutput);
}

TEST(MemoryPlan, KeepsWhatIsReadLaterOutOfTheOutputsMemory) {
  MemoryGraph b;
  const ValueId y = b.copy(b.input(4));
  b.graph.outputs = {b.negate(y), b.copy(y)};
  EXPECT_EQ(checked_plan(b.graph, elementwise_in_place(b.graph)).values[1].kind, SlotKind::kArena);
}

TEST(MemoryPlan, MovesWhatIsAliveAtThePeakToOutputsThatAreWrittenLater) {
  MemoryGraph b;
  const ValueId x = b.input(4);
  const ValueId first = b.copy(x);  // as activations of layers
  const ValueId second = b.copy(first);
  const ValueId loss = b.copy(second);
  const ValueId late = b.add(loss, second);  // gradients, the last layer's first
  b.graph.outputs = {b.add(late, first), late, loss};
  MemoryQuery query = never_in_place();
  EXPECT_EQ(checked_plan(b.graph, query).arena_bytes, 2 * 256) << "too small to move";
  query.min_moved_bytes = 256;
  const MemoryPlan plan = checked_plan(b.graph, query);
  EXPECT_EQ(plan.arena_bytes, 256);
  EXPECT_EQ(plan.values[static_cast<std::size_t>(first)].kind, SlotKind::kArena);
  EXPECT_EQ(plan.values[static_cast<std::size_t>(second)], (Slot{SlotKind::kOutput, 0, 0, 256}));
}

TEST(MemoryPlan, PutsScratchOfOneCommandAfterAnotherInOnePlaceApartFromValues) {
  MemoryGraph b;
  b.graph.outputs = {b.negate(b.negate(b.negate(b.negate(b.input(1)))))};
  const std::vector<std::int64_t> bytes = {0, 1000, 3000, 17 << 20, 2000};
  const MemoryQuery query{[&](ValueId id) { return bytes[static_cast<std::size_t>(id)]; },
                          [](ValueId, std::size_t, std::size_t) { return false; }};
  const MemoryPlan plan = checked_plan(b.graph, query);
  EXPECT_EQ(plan.scratch[0].bytes, 0);
  EXPECT_EQ(plan.scratch[1].bytes, 1000);
  for (const std::size_t id : {1U, 2U, 4U}) EXPECT_EQ(plan.scratch[id].offset, 0);
  EXPECT_GE(plan.scratch[3].offset, 3008) << "no cache keeps it";
  EXPECT_EQ(plan.arena_bytes, 3008 + (17 << 20) + 2 * 64);
}

TEST(MemoryPlan, NamesTheLargestValuesAtThePeak) {
  MemoryGraph b;
  const ValueId x = b.input(8);
  const ValueId early = b.negate(b.rows(x, 0, 1));
  const ValueId kept = b.negate(b.rows(x, 0, 4));
  const ValueId large = b.negate(x);
  const ValueId part = b.negate(b.rows(large, 0, 4));
  b.graph.outputs = {b.add(kept, part), early};
  const MemoryPlan plan = checked_plan(b.graph, never_in_place());
  ASSERT_EQ(plan.largest.size(), 5U);
  EXPECT_EQ(plan.largest[0].bytes, 8 * 64);
  EXPECT_EQ(plan.largest[0].type, b.graph[large].type);
  EXPECT_EQ(plan.largest[4].bytes, 64);
}

TEST(MemoryPlan, AcceptsValuesWithoutElements) {
  MemoryGraph b;
  const ValueId x = b.input(0);
  b.graph.outputs = {b.negate(b.negate(b.rows(x, 0, 0))), x};
  b.graph.updates = {{0, 0}};
  EXPECT_EQ(checked_plan(b.graph, elementwise_in_place(b.graph)).peak_bytes, 0);
}

}  // namespace
}  // namespace lockstep
