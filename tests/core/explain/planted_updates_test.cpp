// What a step's update does with other parameters, another optimizer, or parameters of other sizes:
// told by its names, and nothing of what is recorded for it.
#include <source_location>
#include <span>

#include "core/explain/tally.h"
#include "core/trace/cut_trace.h"
#include "core/trace/gradients.h"
#include "core/trace/origin_scope.h"
#include "tests/core/explain/planted.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

/// A parameter's next value and those of its slots.
using PlantedRule =
    std::function<std::vector<Tensor>(const Tensor& w, const Tensor& g, std::span<const Tensor>)>;

std::vector<Tensor> plain(const Tensor& w, const Tensor& g, std::span<const Tensor>) {
  return {w - g * 0.3};
}

std::vector<Tensor> adaptive(const Tensor& w, const Tensor& g, std::span<const Tensor> slots) {
  const Tensor m = slots[0] * 0.9 + g * 0.1;
  const Tensor v = slots[1] * 0.999 + g * g * 0.001;
  return {w * 0.98 - m / (sqrt(v) + 1e-8), m, v};
}

std::vector<Tensor> momentum(const Tensor& w, const Tensor& g, std::span<const Tensor> slots) {
  const Tensor m = slots[0] * 0.9 + (g + w * 0.01);
  return {w - m * 0.3, m};
}

/// A step of a trainer.
struct Step {
  std::int64_t width = 16;
  bool trains_body = true;
  std::vector<std::string> slots = {};
  PlantedRule rule = plain;
  double clip_norm = 0;
  bool stops = false;  ///< on_nonfinite
};

struct PlantedUpdates : PlantedTest {
  const std::source_location where = std::source_location::current();

  Tensor parameter(const Shape& shape, const char* name) {
    return input({DType::kF32, shape}, name, InputKind::kParameter);
  }

  void take(const Step& step) {
    std::vector<std::string> names = {"body.weight", "body.bias", "head.weight"};
    std::vector<Tensor> all = {parameter({6, step.width}, "body.weight"),
                               parameter({step.width}, "body.bias"),
                               parameter({step.width, 4}, "head.weight")};
    const Tensor x = input({DType::kF32, {8, 6}}, "batch.x");
    const Tensor loss = sum(matmul(relu(linear(x, all[0], &all[1], false)), all[2]));
    if (!step.trains_body) {
      all = {all[2]};
      names = {names[2]};
    }
    const std::vector<Tensor> g = gradients(loss, all);
    std::vector<Tensor> held = update(step, all, names, g);
    held.push_back(loss);
    last = cut({"step end", origin_of(where).to_string()});
  }

  std::vector<Tensor> update(const Step& step, std::vector<Tensor> all,
                             const std::vector<std::string>& names, const std::vector<Tensor>& g) {
    const ModuleScope scope(context, "optimizer_step");
    const LocationScope line(context, where);
    std::vector<Tensor> held, squares;
    for (const Tensor& each : g) squares.push_back(reshape(sum(each * each), Shape{1}));
    Tensor scale = sqrt(sum(concatenate(squares, 0)));
    if (step.clip_norm > 0) {
      const ModuleScope clip(context, "gradient_clip");
      scale = minimum(step.clip_norm / scale, 1.0);
    }
    const Tensor finite = is_finite(scale);
    Tensor applies = finite;
    if (step.stops) {
      const ModuleScope setting(context, "on_nonfinite");
      applies = logical_and(applies, finite);
    }
    held.push_back(applies);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const ModuleScope of(context, names[i]);
      std::vector<Tensor> slots;
      for (const std::string& slot : step.slots)
        slots.push_back(input(all[i].type(), slot + "." + names[i], InputKind::kState));
      const std::vector<Tensor> next = step.rule(all[i], g[i] * scale, slots);
      all[i].assign(next[0]);
      for (std::size_t s = 0; s < slots.size(); ++s) slots[s].assign(next[s + 1]);
      held.insert(held.end(), slots.begin(), slots.end());
    }
    held.insert(held.end(), all.begin(), all.end());
    return held;
  }

  /// The causes of the second one.
  std::vector<std::string> told(const Step& first, const Step& second) {
    history = {};
    take(first);
    take(second);
    return causes_of(last);
  }
};

const Step kAdaptive{.slots = {"exp_avg", "exp_avg_sq"}, .rule = adaptive};
const Step kMomentum{.slots = {"momentum_buffer"}, .rule = momentum};

TEST_F(PlantedUpdates, NamesParametersThatAreTrainedNoMoreOrAgain) {
  for (const Step& all : {Step{}, kAdaptive}) {
    Step some = all;
    some.trains_body = false;
    EXPECT_THAT(told(all, some),
                ElementsAre("output_set body.bias, body.weight are not trained any more"));
    EXPECT_THAT(std::string(last.remedy()), HasSubstr("set_trainable()"));
    EXPECT_GT(last.derived(), 5U);
    EXPECT_THAT(told(some, all), ElementsAre("output_set body.bias, body.weight are trained now"));
  }
}

TEST_F(PlantedUpdates, NamesTheSlotsOfAnotherOptimizerAndNoNumbersOfBoth) {
  EXPECT_THAT(told(kAdaptive, kMomentum),
              ElementsAre("inputs what the optimizer keeps of each parameter: exp_avg, exp_avg_sq "
                          "-> momentum_buffer"));
  for (const Difference& each : last.differences) EXPECT_NE(each.cause, Cause::kConstant);
  EXPECT_THAT(told(Step{}, kMomentum), ElementsAre(HasSubstr("none -> momentum_buffer")));
  EXPECT_THAT(std::string(last.remedy()), StartsWith("the optimizer, its settings"));
}

TEST_F(PlantedUpdates, NamesTheClippingBesideAnotherOptimizer) {
  Step clipped = kMomentum;
  clipped.clip_norm = 1;
  EXPECT_THAT(told(kAdaptive, clipped),
              ElementsAre(StartsWith("inputs what the optimizer keeps"),
                          testing::AllOf(StartsWith("op_added gradient_clip of the update: "),
                                         HasSubstr("(optimizer_step.gradient_clip)"))));
}

TEST_F(PlantedUpdates, NamesTheSettingWhoseOpsCameOrWent) {
  Step stops = kAdaptive;
  stops.stops = true;
  const std::string what =
      fmt::format("on_nonfinite of the update: and bool[] {} ", origin_of(where).to_string());
  EXPECT_THAT(told(kAdaptive, stops), ElementsAre(StartsWith("op_added " + what)));
  EXPECT_THAT(told(stops, kAdaptive), ElementsAre(StartsWith("op_removed " + what)));
  EXPECT_THAT(std::string(last.remedy()),
              testing::AllOf(HasSubstr("on_nonfinite"), HasSubstr("TrainerOptions")));
}

TEST_F(PlantedUpdates, NamesParametersThatGrewAndNotTheirSlots) {
  Step wide = kAdaptive;
  wide.width = 24;
  EXPECT_THAT(told(kAdaptive, wide), ElementsAre("input_shape body.weight[1]: 16 -> 24",
                                                 "input_shape body.bias[0]: 16 -> 24",
                                                 "input_shape head.weight[0]: 16 -> 24"));
  EXPECT_THAT(last.remedies(), testing::SizeIs(1));
}

TEST_F(PlantedUpdates, SaysWhatEndsOtherModesOfTrainingButNotAnEvaluation) {
  const Tensor x = input({DType::kF32, Shape{6}}, "x");
  const auto mode = [&](DType dtype, const char* name) {
    const Tensor held = sum(convert(x, dtype) * 3.0);
    return cut({"step end", "main.cpp:9"}, name);
  };
  CauseTally tally;
  tally.add(mode(DType::kF32, "training, f32"), false, 1);
  tally.add(mode(DType::kF16, "evaluation, f32"), false, 1);
  EXPECT_EQ(tally.table(), "");
  tally.add(mode(DType::kBF16, "training, bf16"), false, 1);
  ASSERT_EQ(tally.rows().size(), 2U);
  EXPECT_THAT(tally.table(), HasSubstr("main.cpp:9: training, f32 -> training, bf16\n"));
  EXPECT_THAT(tally.table(), HasSubstr("\n  mode: compute in one precision in every step"));
  tally.add(mode(DType::kF64, "training, bf16 and evaluation, f32"), false, 1);
  EXPECT_THAT(tally.table(), HasSubstr("\n  mode: record the same parts of a training step"));
}

}  // namespace
}  // namespace lockstep
