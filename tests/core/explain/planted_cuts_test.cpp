// Handles, modes and reads that change a cut, and changes that are no cause.
#include "core/trace/elementwise.h"
#include "core/trace/ops.h"
#include "tests/core/explain/planted.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

struct PlantedCuts : PlantedTest {};

// Handles.

TEST_F(PlantedCuts, NamesAHandleThatIsHeld) {
  const Tensor x = input({DType::kF32, Shape{6}}, "x");
  const auto body = [&](bool again) {
    const ModuleScope scope(context, "lm_head");
    line = __LINE__ + 1;
    const Tensor logits = x * 2.0;
    std::vector<Tensor> held = {sum(logits)};
    if (again) held.push_back(logits);
    return held;
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre(fmt::format(
                          "output_set multiply f32[6] planted_cuts_test.cpp:{} (lm_head) is "
                          "now an output, held by 1 handle",
                          line)));
}

TEST_F(PlantedCuts, NamesAHandleThatIsHeldNoMore) {
  const Tensor x = input({DType::kF32, Shape{6}}, "x");
  const auto body = [&](bool again) {
    line = __LINE__ + 1;
    const Tensor logits = x * 2.0;
    std::vector<Tensor> held = {sum(logits)};
    if (!again) held.push_back(logits);
    return held;
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre(fmt::format(
                          "output_set multiply f32[6] planted_cuts_test.cpp:{} is no longer "
                          "an output: nothing holds it any more",
                          line)));
}

TEST_F(PlantedCuts, TakesOpsThatOnlyAHandleNeedsForItsConsequence) {
  const Tensor x = input({DType::kF32, Shape{6}}, "x");
  const auto body = [&](bool again) {
    line = __LINE__ + 1;
    const Tensor accuracy = mean(abs(x), {0});  // recorded every time
    std::vector<Tensor> held = {sum(x * 2.0)};
    if (again) held.push_back(accuracy);
    return held;
  };
  const auto causes = told(body);
  EXPECT_THAT(causes,
              ElementsAre(testing::AllOf(testing::StartsWith("output_set "),
                                         testing::HasSubstr(fmt::format(
                                             "planted_cuts_test.cpp:{} is now an output", line)))));
}

TEST_F(PlantedCuts, NamesAVariableThatWasAssigned) {
  Tensor p = input({DType::kF32, Shape{6}}, "p", InputKind::kParameter);
  Tensor q = input({DType::kF32, Shape{6}}, "q", InputKind::kParameter);
  const auto body = [&](bool again) {
    line = __LINE__ + 1;
    const Tensor next = p * q;
    (again ? q : p).assign(next);
    return std::vector<Tensor>{};
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre(fmt::format(
                          "output_set multiply f32[6] planted_cuts_test.cpp:{} is now the "
                          "next value of q",
                          line)));
}

TEST_F(PlantedCuts, NamesAStateThatBeginsAnewAndNotItsNextValue) {
  const Tensor x = input({DType::kF32, Shape{6}}, "x"), w = input({DType::kF32, Shape{6}}, "w");
  const auto body = [&](bool again) {
    Tensor carried = input({DType::kF32, Shape{6}}, "carried", InputKind::kState);
    const Tensor before = again ? context.filled(0.0, {DType::kF32, Shape{6}}) : carried;
    const Tensor state = tanh(x * w + before * w);
    carried.assign(state);
    return std::vector{sum(exp(state)), carried};
  };
  EXPECT_THAT(told(body),
              ElementsAre(testing::StartsWith("inputs carried f32[6] was replaced by")));
}

// Modes and reads.

TEST_F(PlantedCuts, NamesEvaluationAtThePlaceOfTraining) {
  const RandomKey key{context.scalar(1, DType::kI64, "seed"),
                      context.scalar(2, DType::kI64, "step"),
                      context.scalar(3, DType::kI64, "micro_batch")};
  const auto causes = told([&](bool again) {
    line = __LINE__ + 1;
    const ModeScope mode(context, {.training = !again, .key = key});
    return std::vector{sum(dropout(exp(input({DType::kF32, Shape{6}}, "x")), 0.5) * 3.0)};
  });
  EXPECT_THAT(causes, ElementsAre(fmt::format("mode the mode set at planted_cuts_test.cpp:{}: "
                                              "training, f32 -> evaluation, f32",
                                              line)));
  EXPECT_THAT(std::string(last.remedy()), testing::HasSubstr("set the same mode in every step"));
}

TEST_F(PlantedCuts, NamesAnotherPrecision) {
  const Tensor x = input({DType::kF32, Shape{6}}, "x");
  const auto record = [&](DType dtype) { return sum(convert(x, dtype) * 3.0); };
  {
    const Tensor held = record(DType::kF32);
    cut({"step end", "main.cpp:9"}, "training, f32");
  }
  const Tensor held = record(DType::kBF16);
  EXPECT_THAT(
      causes_of(cut({"step end", "main.cpp:9"}, "training, bf16")),
      ElementsAre("mode mode of the step cut at main.cpp:9: training, f32 -> training, bf16"));
}

TEST_F(PlantedCuts, NamesTheReadThatCutAStepInTwo) {
  const Tensor x = input({DType::kF32, Shape{6}}, "x");
  const auto record = [&](bool read) {
    Tensor h = x * 2.0;
    if (read) {
      const Explanation first = cut({"value read", "main.cpp:33", true});
      EXPECT_TRUE(first.awaits_next);
    }
    return sum(exp(h) * 3.0);
  };
  for (int step = 0; step < 2; ++step) {
    const Tensor held = record(false);
    cut();
  }
  const Tensor held = record(true);
  EXPECT_THAT(causes_of(cut()), ElementsAre("value_read the read at main.cpp:33 cut the step; this "
                                            "is what came after it"));
}

TEST_F(PlantedCuts, NamesTheReadThatNoLongerCutsAStep) {
  const Tensor x = input({DType::kF32, Shape{6}}, "x");
  const auto record = [&](bool read) {
    Tensor h = x * 2.0;
    if (read) cut({"value read", "main.cpp:33", true});
    return sum(exp(h) * 3.0);
  };
  {
    const Tensor held = record(true);
    cut();
  }
  const Tensor held = record(false);
  EXPECT_THAT(causes_of(cut()),
              ElementsAre("value_read the read at main.cpp:33 no longer cuts the step"));
}

TEST_F(PlantedCuts, NamesTheReadThatCutsAStepInPlaceOfALaterOne) {
  // An early read is new, or there was one before the late read, which is gone.
  const auto causes = [](bool was_early) {
    Planted plant;
    Tensor p = plant.input({DType::kF32, Shape{6}}, "p", InputKind::kParameter);
    const auto record = [&](bool early, bool late) {
      const Tensor g = exp(p * 2.0), norm = sum(g * g);
      Explanation out;
      if (early) out = plant.cut({"value read", "main.cpp:33", true});
      p.assign(p - tanh(g / norm) * 0.1);
      if (late) plant.cut({"value read", "main.cpp:40", true});
      return out;
    };
    for (int step = 0; step < 2; ++step) record(was_early, true);
    record(true, false);
    return causes_of(record(true, false));
  };
  EXPECT_THAT(causes(false),
              ElementsAre("value_read the read at main.cpp:33 now cuts the step, in place of that "
                          "at main.cpp:40"));
  EXPECT_THAT(causes(true),
              ElementsAre("value_read the read at main.cpp:40 no longer cuts the step"));
}

TEST_F(PlantedCuts, NamesAReadOfAllThatTheStepMade) {
  const Tensor x = input({DType::kF32, Shape{6}}, "x");
  const auto record = [&] { return sum(exp(x) * 3.0); };
  {
    const Tensor held = record();
    cut();
  }
  const Tensor held = record();
  const Tensor more = held * 1.0;
  EXPECT_THAT(causes_of(cut({"value read", "main.cpp:33", true})),
              ElementsAre("value_read the read at main.cpp:33 cut the step"));
}

// What is no cause.

TEST_F(PlantedCuts, CallsProgramsOfTwoPlacesFirstOnes) {
  const Tensor x = input({DType::kF32, Shape{6}}, "x");
  {
    const Tensor held = sum(exp(x));
    EXPECT_EQ(cut({"mark_step", "main.cpp:9"}).cause(), Cause::kFirstCompile);
  }
  const Tensor held = sum(log(x));
  EXPECT_EQ(cut({"mark_step", "main.cpp:12"}).cause(), Cause::kFirstCompile);
}

TEST_F(PlantedCuts, CallsTheEvaluationOfATrainedModelAFirstOne) {
  const Tensor x = input({DType::kF32, Shape{6}}, "x");
  const auto model = [&] { return exp(x * 2.0); };
  {
    const Tensor held = sum(model());
    cut({"step end", "main.cpp:9"}, "training, f32");
  }
  const Tensor held = mean(model(), {0});
  EXPECT_EQ(cut({"evaluation", "main.cpp:20"}, "evaluation, f32").cause(), Cause::kFirstCompile);
}

TEST_F(PlantedCuts, TellsFromTheNearestOfSeveral) {
  const auto record = [&](std::int64_t a, std::int64_t b) {
    return sum(input({DType::kF32, Shape{{a, "a"}}}, "x")) +
           sum(input({DType::kF32, Shape{{b, "b"}}}, "y"));
  };
  for (const auto& [a, b] : {std::pair{2, 2}, std::pair{3, 2}, std::pair{2, 3}}) {
    const Tensor held = record(a, b);
    cut();
  }
  const Tensor held = record(2, 5);
  EXPECT_THAT(causes_of(cut()), ElementsAre("input_shape y[b]: 3 -> 5"));
}

// Bounds.

TEST(ProgramHistory, ForgetsGraphsButNotThatThereWasAProgram) {
  Planted plant;
  plant.history = ProgramHistory({.graphs = 2, .structures = 3});
  for (int n = 1; n <= 4; ++n) {
    const Tensor held = exp(plant.input({DType::kF32, Shape{n}}, "x"));
    plant.cut();
  }
  EXPECT_EQ(plant.history.size(), 2U);
  EXPECT_LE(plant.history.bytes(), 4096U);
  EXPECT_FALSE(plant.history.knows(plant.structures[0]));
  EXPECT_TRUE(plant.history.knows(plant.structures[1]));
}

TEST(ProgramHistory, KeepsAtLeastTheLastGraphWithinItsBytes) {
  Planted plant;
  plant.history = ProgramHistory({.bytes = 1});
  for (int n = 1; n <= 3; ++n) {
    const Tensor held = exp(plant.input({DType::kF32, Shape{n}}, "x"));
    plant.cut();
  }
  EXPECT_EQ(plant.history.size(), 1U);
}

}  // namespace
}  // namespace lockstep
