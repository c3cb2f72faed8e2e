#include "core/passes/split_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/ir/text.h"
#include "core/ir/verify.h"
#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string normal(std::string_view text) {
  return print(parse(text, "wanted.ir"));
}

SplitStep split(std::string_view text) {
  SplitStep out = split_step(parse(text, "step.ir"));
  verify(out.gradient, "split_step (gradient)");
  verify(out.update, "split_step (update)");
  return out;
}

/// Per update input: "step 2" or "reduced 0".
std::vector<std::string> sources(const SplitStep& step) {
  std::vector<std::string> out;
  for (const UpdateInput& input : step.update_inputs)
    out.push_back(input.reduced >= 0 ? "reduced " + std::to_string(input.reduced)
                                     : "step " + std::to_string(input.step_input));
  return out;
}

std::string split_error(std::string_view text) {
  return usage_error([&] { split(text); });
}

TEST(SplitStep, CutsATrainingStepAtItsAllReduce) {
  const SplitStep step = split(R"(
    %lr = f32[] input() {kind=scalar, name="lr"}
    %w = f32[4] input() {kind=parameter, name="w"}
    %x = f32[4] input() {kind=batch, name="x"}
    %loss = f32[4] multiply(%w, %x)
    %grad = f32[4] multiply(%x, %x)
    %sum = f32[4] all_reduce(%grad)
    %LR = f32[4] broadcast(%lr) {shape=[4], dims=[]}
    %d = f32[4] multiply(%sum, %LR)
    %next = f32[4] subtract(%w, %d)
    return %loss, %next
    update 1 -> %w)");
  EXPECT_EQ(print(step.gradient), normal(R"(
    %w = f32[4] input() {kind=parameter, name="w"} %x = f32[4] input() {kind=batch, name="x"}
    %loss = f32[4] multiply(%w, %x) %grad = f32[4] multiply(%x, %x)
    return %grad, %loss)"));
  EXPECT_EQ(print(step.update), normal(R"(
    %lr = f32[] input() {kind=scalar, name="lr"} %w = f32[4] input() {kind=parameter, name="w"}
    %sum = f32[4] input() {kind=state, name="reduced.0"}
    %LR = f32[4] broadcast(%lr) {shape=[4], dims=[]} %d = f32[4] multiply(%sum, %LR)
    %next = f32[4] subtract(%w, %d)
    return %next update 0 -> %w)"));
  EXPECT_THAT(step.reduced, ElementsAre(Type{DType::kF32, Shape{4}}));
  EXPECT_THAT(step.gradient_inputs, ElementsAre(1, 2));
  EXPECT_THAT(step.gradient_outputs, ElementsAre(0));
  EXPECT_THAT(sources(step), ElementsAre("step 0", "step 1", "reduced 0"));
  EXPECT_THAT(step.update_outputs, ElementsAre(1));
}

TEST(SplitStep, ComputesSharedValuesInBoth) {
  const SplitStep step = split(R"(
    %w = f32[] input() {kind=parameter} %x = f32[] input() {kind=batch}
    %e = f32[] exp(%w) %g = f32[] multiply(%e, %x) %s = f32[] all_reduce(%g)
    %n = f32[] add(%e, %s) return %n)");
  EXPECT_EQ(step.gradient[2].op, Op::kExp);
  EXPECT_EQ(step.update[1].op, Op::kExp);
}

TEST(SplitStep, ReducesAValueOnceHoweverOftenItIsAsked) {
  const SplitStep step = split(R"(
    %x = f32[] input() {kind=batch} %a = f32[] all_reduce(%x) %b = f32[] all_reduce(%x)
    %c = f32[] add(%a, %b) return %c, %b)");
  EXPECT_THAT(step.gradient.outputs, ElementsAre(0));
  EXPECT_EQ(print(step.update), normal(R"(
    %a = f32[] input() {name="reduced.0"} %c = f32[] add(%a, %a) return %c, %a)"));
}

TEST(SplitStep, ForgetsDeadReductions) {
  const SplitStep step = split(R"(
    %x = f32[] input() {kind=batch} %dead = f32[] all_reduce(%x)
    %e = f32[] exp(%x) %s = f32[] all_reduce(%e) return %s)");
  EXPECT_THAT(step.reduced, ::testing::SizeIs(1));
  EXPECT_THAT(sources(step), ElementsAre("reduced 0"));
}

TEST(SplitStep, PutsReductionsOfValuesOfNoBatchIntoTheGradientProgram) {
  const SplitStep step =
      split("%n = i64[] constant() {value=3} %s = i64[] all_reduce(%n) return %s");
  EXPECT_EQ(print(step.gradient), normal("%n = i64[] constant() {value=3} return %n"));
  EXPECT_EQ(print(step.update), normal("%s = i64[] input() {name=\"reduced.0\"} return %s"));
}

TEST(SplitStep, HasNoGradientProgramWithoutBatchAndReduction) {
  const SplitStep step =
      split("%w = f32[] input() {kind=state} %e = f32[] exp(%w) return %e update 0 -> %w");
  EXPECT_THAT(step.gradient.outputs, IsEmpty());
  EXPECT_THAT(step.gradient.nodes, IsEmpty());
  EXPECT_THAT(step.update_outputs, ElementsAre(0));
}

TEST(SplitStep, HasOnlyAGradientProgramWhenNothingIsReduced) {
  const SplitStep step = split(R"(
    %w = f32[] input() {kind=parameter} %x = f32[] input() {kind=batch}
    %y = f32[] multiply(%w, %x) return %y)");
  EXPECT_THAT(step.gradient_outputs, ElementsAre(0));
  EXPECT_THAT(step.update.nodes, IsEmpty());
}

TEST(SplitStep, KeepsInputsThatOnlyGiveTheirMemory) {
  const SplitStep step = split(R"(
    %w = f32[] input() {kind=state} %x = f32[] input() {kind=batch} %s = f32[] all_reduce(%x)
    %e = f32[] exp(%s) return %e update 0 -> %w)");
  EXPECT_THAT(sources(step), ElementsAre("step 0", "reduced 0"));
  EXPECT_THAT(step.update.updates, ElementsAre(Update{0, 0}));
}

TEST(SplitStep, KeepsTheParameterOrderOfInputs) {
  const SplitStep step = split(R"(
    %x = f32[] input() {kind=batch, name="x"} %w = f32[] input() {kind=state, name="w"}
    %g = f32[] multiply(%x, %w) %s = f32[] all_reduce(%g) %n = f32[] add(%w, %s)
    inputs %w, %x return %n)");
  EXPECT_THAT(step.gradient_inputs, ElementsAre(0, 1));
  EXPECT_EQ(step.gradient[step.gradient.inputs[0]].name, "w");
  EXPECT_EQ(step.gradient[step.gradient.inputs[1]].name, "x");
}

constexpr const char* kHead = R"(
    %w = f32[] input() {kind=parameter} %x = f32[] input() {kind=batch}
    %y = f32[] multiply(%w, %x) {line="model.cpp:7", scope="h.0"}
    %s = f32[] all_reduce(%y) {line="model.cpp:8"} )";

TEST(SplitStep, RefusesToMixMicroBatchesAndSums) {
  EXPECT_EQ(
      split_error(std::string(kHead) + "%z = f32[] add(%s, %y) {line=\"model.cpp:9\"} return %z"),
      "model.cpp:9: add mixes a value of one micro-batch with a value summed over all "
      "micro-batches; all_reduce the first");
}

TEST(SplitStep, RefusesToReduceASumAgain) {
  EXPECT_EQ(
      split_error(std::string(kHead) +
                  "%e = f32[] exp(%s) %z = f32[] all_reduce(%e) {line=\"model.cpp:9\"} return %z"),
      "model.cpp:9: all_reduce of f32[], which was already summed over the micro-batches: reduce "
      "every value once");
}

TEST(SplitStep, RefusesToAssignAValueOfOneMicroBatch) {
  EXPECT_EQ(split_error(std::string(kHead) + "return %y, %s update 0 -> %w"),
            "model.cpp:7 (h.0): a variable is assigned a value of one micro-batch; all_reduce it "
            "first");
}

TEST(SplitStep, RefusesCollectivesOverRanksOfAValueOfOneMicroBatch) {
  EXPECT_EQ(split_error(std::string(kHead) + "%z = f32[] collective_broadcast(%y) {root=0, "
                                             "line=\"model.cpp:9\"} return %z"),
            "model.cpp:9: collective_broadcast works over ranks and cannot take a value of one "
            "micro-batch; all_reduce it first");
}

}  // namespace
}  // namespace lockstep
