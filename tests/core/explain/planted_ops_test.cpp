// Numbers, attributes and ops that change, found and named word for word.
#include "core/explain/tally.h"
#include "core/trace/elementwise.h"
#include "core/trace/functions.h"
#include "core/trace/gradients.h"
#include "core/trace/ops.h"
#include "tests/core/explain/planted.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

struct PlantedOps : PlantedTest {};

// Numbers and attributes.

TEST_F(PlantedOps, NamesAConstantThatChanges) {
  const Tensor x = input({DType::kF32, Shape{6}}, "p", InputKind::kParameter);
  const auto body = [&](bool again) {
    line = __LINE__ + 1;
    return std::vector{x * (again ? 3.0 : 2.0)};
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre(fmt::format(
                          "constant constant f32[] planted_ops_test.cpp:{}: 2 -> 3", line)));
}

TEST_F(PlantedOps, NamesANumberThatAnotherLineGives) {
  const Tensor x = input({DType::kF32, Shape{6}}, "x");
  const auto body = [&](bool again) {
    Tensor y;
    if (!again) y = x * 2.0;
    line = __LINE__ + 1;
    if (again) y = x * 3.0;
    return std::vector{sum(y)};
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre(fmt::format(
                          "constant constant f32[] planted_ops_test.cpp:{}: 2 -> 3", line)));
}

TEST_F(PlantedOps, NamesNoNumberOfOtherOps) {
  const Tensor x = input({DType::kF32, Shape{6}}, "x");
  const Tensor y = input({DType::kF32, Shape{6}}, "y");
  const auto body = [&](bool again) {
    std::vector<Tensor> held = {sum(x)};
    if (!again) held.push_back(exp(x) * 2.0);
    line = __LINE__ + 1;
    if (again) held.push_back(log(y) + 3.0);
    return held;
  };
  const auto causes = told(body);
  for (const std::string& cause : causes)
    EXPECT_THAT(cause, testing::Not(testing::HasSubstr("constant")));
}

TEST_F(PlantedOps, NamesANumberInManyPlacesOnce) {
  const Tensor x = input({DType::kF32, Shape{6}}, "x");
  const auto body = [&](bool again) {
    const double eps = again ? 1e-6 : 1e-5;
    Tensor y = x;
    for (int layer = 0; layer < 12; ++layer) {
      const ModuleScope scope(context, fmt::format("h{}", layer));
      y = sqrt(y * y +
               context.constant(HostTensor::of(Shape{6}, std::vector<float>(6, float(eps)))));
    }
    return std::vector{y};
  };
  const auto causes = told(body);
  EXPECT_THAT(
      causes,
      ElementsAre(testing::HasSubstr("(h0): [1e-05,1e-05,1e-05,1e-05,1e-05,1e-05] -> [1e-06,")));
}

TEST_F(PlantedOps, NamesAllLinesThatTakeANumber) {
  const Tensor x = input({DType::kF32, Shape{6}}, "x");
  const auto body = [&](bool again) {
    const double rate = again ? 0.9 : 1.5;
    line = __LINE__ + 1;
    const Tensor y = exp(x * rate);
    return std::vector{y * rate};
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre(fmt::format("constant constant f32[] planted_ops_test.cpp:{} and "
                                              "planted_ops_test.cpp:{}: 1.5 -> 0.9",
                                              line, line + 1)));
}

TEST_F(PlantedOps, NamesANumberThatJoinsAnEqualOne) {
  const Tensor x = input({DType::kF32, Shape{6}}, "x");
  const auto body = [&](bool again) {
    const Tensor y = x * 2.0;
    line = __LINE__ + 1;
    return std::vector{exp(y) * (again ? 2.0 : 3.0)};
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre(fmt::format(
                          "constant constant f32[] planted_ops_test.cpp:{}: 3 -> 2", line)));
}

TEST_F(PlantedOps, NamesAConstantTableWithOtherValues) {
  const Tensor x = input({DType::kF32, Shape{100}}, "x");
  const auto body = [&](bool again) {
    std::vector<float> table(100, 1.0F);
    if (again) table[40] = 2;
    line = __LINE__ + 1;
    const Tensor t = context.constant(HostTensor::of(Shape{100}, table));
    return std::vector{x * t};
  };
  const auto causes = told(body);
  EXPECT_THAT(
      causes,
      ElementsAre(fmt::format(
          "constant constant f32[100] planted_ops_test.cpp:{} [40]: 1 -> 2 (1 of 100 differ)",
          line)));
}

TEST_F(PlantedOps, CountsTheValuesOfATablesElementOnce) {
  const Tensor x = input({DType::kF32, Shape{100}}, "x");
  CauseTally tally;
  for (int step = 0; step < 4; ++step) {
    const HostTensor table =
        HostTensor::of(Shape{100}, std::vector<float>(100, static_cast<float>(step)));
    const std::vector results{x * context.constant(table)};
    if (const Explanation told = cut(); step > 0) tally.add(told, false, 0);
  }
  EXPECT_THAT(tally.table(), testing::HasSubstr(" [0] had 4 values (0, 1, 2, 3)\n"));
}

TEST_F(PlantedOps, NamesAnAxis) {
  const Tensor x = input({DType::kF32, Shape{4, 4}}, "x");
  const auto body = [&](bool again) {
    line = __LINE__ + 1;
    return std::vector{reduce_sum(x, {again ? 1 : 0})};
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre(fmt::format(
                          "attribute reduce_sum planted_ops_test.cpp:{} dims: [0] -> [1]", line)));
}

TEST_F(PlantedOps, NamesTheStartOfASlice) {
  const Tensor x = input({DType::kF32, Shape{10}}, "x");
  const auto body = [&](bool again) {
    const std::int64_t start = again ? 3 : 2;
    line = __LINE__ + 1;
    return std::vector{slice(x, {start}, {start + 4}, {1})};
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre(fmt::format(
                          "attribute slice planted_ops_test.cpp:{} start: [2] -> [3]", line)));
}

TEST_F(PlantedOps, TakesWhatFollowsAReshapeForAConsequence) {
  const Tensor x = input({DType::kF32, Shape{12}}, "x");
  const auto body = [&](bool again) {
    const std::int64_t rows = again ? 6 : 4;
    // the rows come from nowhere but the program itself
    line = __LINE__ + 1;
    const Tensor y = reshape(x, Shape{rows, 12 / rows});
    const Tensor m = mean(y, {1});
    return std::vector{y - broadcast_in_dim(m, y.shape(), {0})};
  };
  const auto causes = told(body);
  EXPECT_THAT(causes,
              ElementsAre(fmt::format(
                  "attribute reshape planted_ops_test.cpp:{} shape: [4,3] -> [6,2]", line)));
}

TEST_F(PlantedOps, NamesTheSizeOfATableAndThatItIsOne) {
  const auto body = [&](bool again) {
    const std::vector<float> table(again ? 4 : 3, 1.0F);
    line = __LINE__ + 1;
    const Tensor t = context.constant(HostTensor::of(Shape{again ? 4 : 3}, table));
    return std::vector{sum(t)};
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre(fmt::format(
                          "constant constant planted_ops_test.cpp:{}: f32[3] -> f32[4]", line)));
  EXPECT_THAT(std::string(last.remedy()), testing::HasSubstr("an input of its largest size"));
}

TEST_F(PlantedOps, TellsNoSizesWhereAShapeHasAsManyElements) {
  const Tensor x = input({DType::kF32, Shape{4, 8}}, "x");
  const auto shaped = [&](const Shape& shape) {
    return [this, &x, shape] { return std::vector{tanh(reshape(x, shape))}; };
  };
  for (const Shape& other : {Shape{2, 16}, Shape{2, 2, 8}}) {
    history = {};
    EXPECT_THAT(told(shaped(Shape{8, 4}), shaped(other)),
                ElementsAre(testing::HasSubstr("shape: [8,4] -> ")));
    EXPECT_EQ(last.remedy(), remedy_of(Cause::kAttribute));
  }
  history = {};
  const auto padded = [&](std::int64_t low) {
    return [this, &x, low] { return std::vector{pad(x, 0.0, {0, low}, {0, 2 - low})}; };
  };
  (void)told(padded(0), padded(2));
  EXPECT_EQ(last.remedy(), remedy_of(Cause::kAttribute));
}

TEST_F(PlantedOps, NamesByHowMuchAPadShiftsAndNotItsGradient) {
  const auto body = [&](bool again) {
    const Tensor x = input({DType::kF32, Shape{2, 8}}, "x");
    line = __LINE__ + 1;
    const Tensor wide = pad(tanh(x), 0.0, {0, again ? 2 : 1}, {0, again ? 1 : 2});
    std::vector<Tensor> out = gradients(sum(exp(wide) * wide), std::vector{x});
    out.push_back(wide);
    return out;
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre(fmt::format(
                          "attribute pad planted_ops_test.cpp:{} low: [0,1] -> [0,2]", line)));
}

TEST_F(PlantedOps, NamesHowManyPartsAListHas) {
  const Tensor x = input({DType::kF32, Shape{2, 8}}, "x");
  const auto body = [&](bool again) {
    const std::vector<Tensor> parts(again ? 3 : 2, x);
    line = __LINE__ + 1;
    return std::vector{sum(concatenate(parts, 0))};
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre(fmt::format(
                          "inputs operands of concatenate planted_ops_test.cpp:{}: 2 -> 3", line)));
  EXPECT_THAT(std::string(last.remedy()), testing::HasSubstr("the same number in every step"));
}

TEST_F(PlantedOps, NamesAListOfKeptValuesThatGrowsOnce) {
  std::vector<Tensor> kept;
  CauseTally tally;
  for (int step = 0; step < 5; ++step) {
    kept.push_back(input({DType::kF32, Shape{1, 8}}, "", InputKind::kState));
    if (step == 0) continue;
    const Tensor held = sum(concatenate(kept, 0));
    const Explanation told = cut();
    tally.add(told, false, 0);
    if (step == 1) continue;
    EXPECT_THAT(causes_of(told), ElementsAre(testing::HasSubstr("operands of ")));
  }
  ASSERT_EQ(tally.rows().size(), 1U);
  EXPECT_THAT(tally.rows()[0].describe(), testing::HasSubstr(" had 4 values (2, 3, 4, 5)"));
}

TEST_F(PlantedOps, NamesNumbersThatAreTakenInAnotherOrder) {
  const Tensor x = input({DType::kF32, Shape{6}}, "x");
  const auto body = [&](bool again) {
    std::vector<double> weights = {0.5, 0.25, 2};
    if (again) std::swap(weights[0], weights[2]);
    Tensor y = x;
    line = __LINE__ + 1;
    for (const double weight : weights) y = y + x * weight;
    return std::vector{y};
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre(fmt::format("constant numbers that are taken in another order at "
                                              "planted_ops_test.cpp:{}: 0.5, 2 -> 2, 0.5",
                                              line)));
  EXPECT_THAT(std::string(last.remedy()),
              testing::AllOf(testing::HasSubstr("scalar("), testing::HasSubstr("in one order")));
}

TEST_F(PlantedOps, NamesAScalarThatBecameANumberAndBack) {
  const Tensor x = input({DType::kF32, Shape{6}}, "x");
  const auto body = [&](bool scalar) {
    line = __LINE__ + 1;
    return std::vector{scalar ? x * context.scalar(2, DType::kF32, "k") : x * 2.0};
  };
  for (const bool first : {false, true}) {
    history = {};
    const auto causes = told([&] { return body(first); }, [&] { return body(!first); });
    EXPECT_THAT(causes, ElementsAre(fmt::format(
                            "inputs k f32[] {} constant f32[] planted_ops_test.cpp:{} of 2, in "
                            "broadcast f32[6] planted_ops_test.cpp:{}",
                            first ? "was replaced by" : "took the place of", line, line)));
    EXPECT_THAT(std::string(last.remedy()),
                testing::HasSubstr("give it as an input in every step"));
  }
}

TEST_F(PlantedOps, NamesNoNumberOfAnotherFunctionOfALine) {
  const Tensor x = input({DType::kF32, Shape{6}}, "x");
  const auto body = [&](bool again) { return std::vector{again ? gelu(x) : relu(x)}; };
  EXPECT_THAT(told(body), testing::Each(Not(testing::HasSubstr("constant"))));
}

// Ops.

TEST_F(PlantedOps, NamesAnOpThatWasAdded) {
  const Tensor x = input({DType::kF32, Shape{6}}, "x");
  const auto body = [&](bool again) {
    Tensor y = x * 2.0;
    line = __LINE__ + 1;
    if (again) y = exp(y);
    return std::vector{sum(y)};
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre(fmt::format(
                          "op_added exp f32[6] planted_ops_test.cpp:{} was added", line)));
}

TEST_F(PlantedOps, NamesAnOpThatIsGone) {
  const Tensor x = input({DType::kF32, Shape{6}}, "x");
  const auto body = [&](bool again) {
    Tensor y = x * 2.0;
    line = __LINE__ + 1;
    if (!again) y = exp(y);
    return std::vector{sum(y)};
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre(fmt::format(
                          "op_removed exp f32[6] planted_ops_test.cpp:{} is gone", line)));
}

TEST_F(PlantedOps, NamesAnOpInPlaceOfAnother) {
  const Tensor x = input({DType::kF32, Shape{6}}, "x");
  const auto body = [&](bool again) {
    line = __LINE__ + 1;
    return std::vector{sum(again ? log(x) : exp(x))};
  };
  const auto causes = told(body);
  EXPECT_THAT(
      causes,
      ElementsAre(fmt::format("op_added log f32[6] planted_ops_test.cpp:{} was added", line),
                  fmt::format("op_removed exp f32[6] planted_ops_test.cpp:{} is gone", line)));
}

TEST_F(PlantedOps, NamesTheLayerOfTwelveThatGotAnOp) {
  std::vector<Tensor> w;
  w.reserve(12);
  for (int layer = 0; layer < 12; ++layer)
    w.push_back(
        input({DType::kF32, Shape{4, 4}}, fmt::format("h.{}.w", layer), InputKind::kParameter));
  const Tensor x = input({DType::kF32, Shape{2, 4}}, "batch.x");
  const auto body = [&](bool again) {
    Tensor y = x;
    for (std::size_t layer = 0; layer < 12; ++layer) {
      const ModuleScope scope(context, fmt::format("h.{}", layer));
      y = tanh(matmul(y, w[layer]));
      line = __LINE__ + 1;
      if (again && layer == 5) y = abs(y) * 3.0;
    }
    return std::vector{sum(y)};
  };
  const auto causes = told(body);
  EXPECT_THAT(
      causes,
      ElementsAre(fmt::format(
          "op_added abs f32[2,4] planted_ops_test.cpp:{} (h.5) and 3 more ops there were added",
          line)));
}

TEST_F(PlantedOps, NamesALayerThatWasAppended) {
  const Tensor x = input({DType::kF32, Shape{2, 4}}, "batch.x");
  const Tensor w = input({DType::kF32, Shape{4, 4}}, "w", InputKind::kParameter);
  const auto body = [&](bool again) {
    Tensor y = x;
    for (int layer = 0; layer < (again ? 13 : 12); ++layer) {
      const ModuleScope scope(context, fmt::format("h.{}", layer));
      line = __LINE__ + 1;
      y = tanh(matmul(y, w));
    }
    return std::vector{sum(y)};
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre(fmt::format(
                          "op_added dot_general f32[2,4] planted_ops_test.cpp:{} (h.12) and 1 "
                          "more op there were added",
                          line)));
}

TEST_F(PlantedOps, NamesALineOfSeveralScopesOnce) {
  const Tensor x = input({DType::kF32, Shape{2, 4}}, "batch.x");
  const auto body = [&](bool again) {
    Tensor y = x;
    for (int layer = 0; layer < 12; ++layer) {
      const ModuleScope scope(context, fmt::format("h.{}", layer));
      y = tanh(y);
      line = __LINE__ + 1;
      if (again && layer % 4 == 1) y = abs(y);
    }
    return std::vector{sum(y)};
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre(fmt::format("op_added abs f32[2,4] planted_ops_test.cpp:{} (h.1) "
                                              "was added, likewise in 2 other scopes",
                                              line)));
  EXPECT_EQ(last.derived(), 2U);
}

TEST_F(PlantedOps, TakesWhatWorksOnAnAddedResultForAConsequence) {
  const Tensor x = input({DType::kF32, Shape{6}}, "x");
  const Tensor slot = input({DType::kF32, Shape{6}}, "slot", InputKind::kState);
  const auto body = [&](bool again) {
    std::vector<Tensor> held = {sum(x)};
    line = __LINE__ + 1;
    if (again) held.push_back(exp(x));
    if (again) held.push_back(held.back() * 2.0 + slot);
    return held;
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre(fmt::format(
                          "op_added exp f32[6] planted_ops_test.cpp:{} was added", line)));
}

TEST_F(PlantedOps, NamesADropoutThatIsGone) {
  const Tensor x = input({DType::kF32, Shape{6}}, "x");
  const Tensor micro_batch = input({DType::kI64, Shape{}}, "micro_batch");
  const auto body = [&](bool again) {
    const RandomKey key{context.scalar(1, DType::kI64, "seed"),
                        context.scalar(again, DType::kI64, "step"), micro_batch};
    line = __LINE__ + 1;
    return std::vector{sum(again ? x : dropout(x, 0.5, key))};
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre(testing::StartsWith(fmt::format(
                          "op_removed random_bits i32[6] planted_ops_test.cpp:{} and ", line))));
}

TEST_F(PlantedOps, NamesOpsThatChangedPlaces) {
  const Tensor x = input({DType::kF32, Shape{6}}, "x");
  const auto body = [&](bool again) {
    Tensor a;
    Tensor b;
    line = __LINE__ + 1;
    if (again) b = log(x);
    a = exp(x);
    if (!again) b = log(x);
    return std::vector{a - b};
  };
  const auto causes = told(body);
  EXPECT_THAT(
      causes,
      ElementsAre(fmt::format(
          "op_order log f32[6] planted_ops_test.cpp:{} was recorded in another place", line)));
}

TEST_F(PlantedOps, NamesOperandsThatChangedPlaces) {
  const Tensor x = input({DType::kF32, Shape{6}}, "x");
  const auto body = [&](bool again) {
    const Tensor a = exp(x);
    const Tensor b = log(x);
    line = __LINE__ + 1;
    return std::vector{again ? b - a : a - b};
  };
  const auto causes = told(body);
  EXPECT_THAT(causes,
              ElementsAre(fmt::format("op_order subtract f32[6] planted_ops_test.cpp:{} takes its "
                                      "operands in another order",
                                      line)));
}

}  // namespace
}  // namespace lockstep
