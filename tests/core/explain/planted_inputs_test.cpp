// Inputs that change, for every cause among them, and the consequences of their sizes: found and
// named, word for word, and nothing else is reported.
#include "core/explain/tally.h"
#include "core/trace/elementwise.h"
#include "core/trace/ops.h"
#include "tests/core/explain/planted.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

struct PlantedInputs : PlantedTest {};

Type tokens(std::int64_t length) {
  return {DType::kF32, Shape{{8, "batch"}, {length, "length"}}};
}

// Inputs.

TEST_F(PlantedInputs, NamesFieldAndDimensionOfALongerBatch) {
  const auto body = [&](bool again) {
    const Tensor x = input(tokens(again ? 61 : 57), "batch.tokens");
    return std::vector{mean(x * 2.0, {0, 1})};
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre("input_shape batch.tokens[length]: 57 -> 61"));
}

TEST_F(PlantedInputs, CountsADimensionWithoutAName) {
  const auto body = [&](bool again) {
    const Tensor x = input({DType::kF32, Shape{4, again ? 3 : 2}}, "batch.x");
    return std::vector{sum(x)};
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre("input_shape batch.x[1]: 2 -> 3"));
}

TEST_F(PlantedInputs, NamesEveryInputThatChangedAtOnce) {
  const auto body = [&](bool again) {
    const Tensor x = input(tokens(again ? 61 : 57), "batch.tokens");
    const Tensor y = input({DType::kF32, Shape{{again ? 3 : 2, "boxes"}}}, "batch.boxes");
    return std::vector{sum(x), sum(y)};
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre("input_shape batch.tokens[length]: 57 -> 61",
                                  "input_shape batch.boxes[boxes]: 2 -> 3"));
}

TEST_F(PlantedInputs, NamesAnInputOfAnotherRank) {
  const auto body = [&](bool again) {
    const Tensor x = input({DType::kF32, again ? Shape{6, 1} : Shape{6}}, "batch.x");
    return std::vector{sum(x)};
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre("input_shape batch.x: [6] -> [6,1]"));
}

TEST_F(PlantedInputs, NamesABatchBeforeTheStateThatGrewWithIt) {
  const auto body = [&](bool again) {
    const std::int64_t n = again ? 5 : 4;
    const Tensor cache = input({DType::kF32, Shape{n}}, "cache", InputKind::kState);
    const Tensor x = input({DType::kF32, Shape{{n, "time"}}}, "batch.x");
    return std::vector{cache * x};
  };
  const auto causes = told(body);
  EXPECT_THAT(causes,
              ElementsAre("input_shape batch.x[time]: 4 -> 5", "input_shape cache[0]: 4 -> 5"));
}

TEST_F(PlantedInputs, TellsToPadBatchesOnly) {
  for (const auto& [kind, remedy] : {std::pair{InputKind::kBatch, "PaddingMode::kBucket"},
                                     std::pair{InputKind::kParameter, "make the module once"},
                                     std::pair{InputKind::kState, "mask the rest"}}) {
    Planted plant;
    plant.padded = {"x[0]"};
    for (const int n : {2, 3}) {
      const Tensor held = exp(plant.input({DType::kF32, Shape{n}}, "x", kind));
      const Explanation told = plant.cut();
      if (n == 2) continue;
      EXPECT_THAT(std::string(told.remedy()), testing::HasSubstr(remedy));
    }
  }
}

TEST_F(PlantedInputs, TellsToPadOnlyWhatALoaderPads) {
  const auto remedy = [&](std::set<std::string> dimensions, const char* name) {
    history = {};
    padded = std::move(dimensions);
    const auto body = [&](bool again) {
      const Shape shape{{8, "batch"}, {again ? 12 : 8, "length"}, 3};
      return std::vector{sum(input({DType::kF32, shape}, name))};
    };
    EXPECT_THAT(told(body), testing::SizeIs(1));
    return std::string(last.remedy());
  };
  EXPECT_THAT(remedy({"batch.tokens[length]", "batch.x[time]"}, "batch.tokens"),
              testing::StartsWith("pad it to a few sizes"));
  // A field of a fixed size, though its dimension has such a name; a batch that is made by hand.
  for (const auto& dimensions : {std::set<std::string>{"batch.tokens[length]"}, {}})
    EXPECT_THAT(remedy(dimensions, "batch.x"), testing::StartsWith("give all samples one size"));
}

TEST_F(PlantedInputs, TellsToKeepTheBatchSizeAndNotToPadIt) {
  const auto sized = [&](const Shape& shape) {
    return [this, shape] { return std::vector{exp(input({DType::kF32, shape}, "batch.x"))}; };
  };
  EXPECT_THAT(told(sized(Shape{{4, "batch"}, 3}), sized(Shape{{7, "batch"}, 3})),
              ElementsAre("input_shape batch.x[batch]: 4 -> 7"));
  EXPECT_THAT(std::string(last.remedy()), testing::HasSubstr("keep the batch size the same"));
  history = {};
  (void)told(sized(Shape{4, 3, 28, 28}), sized(Shape{4, 3, 32, 28}));
  EXPECT_THAT(std::string(last.remedy()), testing::HasSubstr("in the dataset"));
  history = {};
  (void)told(sized(Shape{8}), sized(Shape{2, 4}));
  EXPECT_THAT(std::string(last.remedy()), testing::HasSubstr("reshape()"));
  history = {};
  EXPECT_THAT(told(sized(Shape{2, 8}), sized(Shape{8, 2})),
              ElementsAre("input_shape batch.x: [2,8] -> [8,2]"));
  EXPECT_THAT(std::string(last.remedy()), testing::HasSubstr("transpose()"));
}

TEST_F(PlantedInputs, NamesWhatGrowsByConcatenationOnce) {
  Tensor cache = input({DType::kF32, Shape{1, 8}}, "", InputKind::kState);
  const Tensor x = input({DType::kF32, Shape{2, 8}}, "x");
  CauseTally tally;
  for (int step = 0; step < 40; ++step) {
    line = __LINE__ + 1;
    cache = concatenate(std::vector{cache, x}, 0);
    const Explanation told = cut();
    tally.add(told, false, 0);
    if (step == 0) continue;
    EXPECT_THAT(causes_of(told),
                ElementsAre(fmt::format("input_shape input 0 (made before, taken at "
                                        "planted_inputs_test.cpp:{})[0]: {} -> {}",
                                        line, 2 * step - 1, 2 * step + 1)));
    EXPECT_EQ(told.differences.front().line, fmt::format("planted_inputs_test.cpp:{}", line));
    EXPECT_THAT(std::string(told.remedy()), testing::HasSubstr("dynamic_update_slice()"));
  }
  ASSERT_EQ(tally.rows().size(), 1U);
  EXPECT_EQ(tally.rows()[0].misses(), 39);
}

TEST_F(PlantedInputs, NamesAnInputOfAnotherDType) {
  const auto body = [&](bool again) {
    const Tensor x = input({again ? DType::kBF16 : DType::kF32, Shape{6}}, "batch.x");
    return std::vector{sum(x * x)};
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre("input_dtype batch.x: f32 -> bf16"));
}

TEST_F(PlantedInputs, TakesConversionsForAConsequenceOfTheDType) {
  const auto body = [&](bool again) {
    const Tensor x = input({again ? DType::kBF16 : DType::kF32, Shape{6}}, "batch.x");
    return std::vector{sum(convert(x, DType::kF32) * 3.0)};
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre("input_dtype batch.x: f32 -> bf16"));
}

TEST_F(PlantedInputs, TakesTheConversionOfItsNextValueForAConsequenceOfTheDType) {
  const Tensor g = input({DType::kF32, Shape{6}}, "batch.g");
  const auto body = [&](bool half) {
    Tensor momentum =
        input({half ? DType::kBF16 : DType::kF32, Shape{6}}, "momentum", InputKind::kState);
    const Tensor fresh = convert(momentum, DType::kF32) * 0.9 + g;
    momentum.assign(convert(fresh, momentum.dtype()));
    return std::vector{sum(fresh * 0.01), momentum};
  };
  EXPECT_THAT(told(body), ElementsAre("input_dtype momentum: f32 -> bf16"));
  history = {};
  EXPECT_THAT(told([&] { return body(true); }, [&] { return body(false); }),
              ElementsAre("input_dtype momentum: bf16 -> f32"));
}

TEST_F(PlantedInputs, NamesAnInputThatBecameABatch) {
  const auto body = [&](bool again) {
    const Tensor x =
        input({DType::kF32, Shape{6}}, "x", again ? InputKind::kBatch : InputKind::kState);
    return std::vector{x * 2.0};
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre("inputs x: state -> batch"));
}

TEST_F(PlantedInputs, NamesTheOpThatTakesANewInput) {
  const Tensor x = input({DType::kF32, Shape{6}}, "batch.x");
  const Tensor mask = input({DType::kF32, Shape{6}}, "batch.mask");
  const auto body = [&](bool again) {
    Tensor y = x * 2.0;
    line = __LINE__ + 1;
    if (again) y = y * mask;
    return std::vector{sum(y)};
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre(fmt::format(
                          "op_added multiply f32[6] planted_inputs_test.cpp:{} was added", line)));
}

TEST_F(PlantedInputs, NamesAnInputThatIsGone) {
  const Tensor x = input({DType::kF32, Shape{6}}, "batch.x");
  const Tensor bias = input({DType::kF32, Shape{6}}, "bias", InputKind::kParameter);
  const auto body = [&](bool again) {
    line = __LINE__ + 1;
    return std::vector{sum(x + (again ? x : bias))};
  };
  const auto causes = told(body);
  EXPECT_THAT(causes,
              ElementsAre(fmt::format("inputs bias f32[6] is no longer an input of add f32[6] "
                                      "planted_inputs_test.cpp:{}",
                                      line)));
}

TEST_F(PlantedInputs, NamesAnOperandThatIsAnotherInput) {
  const Tensor x = input({DType::kF32, Shape{6}}, "batch.x");
  const Tensor y = input({DType::kF32, Shape{6}}, "batch.y");
  const auto body = [&](bool again) {
    const Tensor both = x * y;
    line = __LINE__ + 1;
    const Tensor z = exp(again ? y : x);
    return std::vector{both, z};
  };
  const auto causes = told(body);
  EXPECT_THAT(
      causes,
      ElementsAre(fmt::format(
          "inputs operand 0 of exp f32[6] planted_inputs_test.cpp:{}: batch.x -> batch.y", line)));
}

// What follows from a size.

TEST_F(PlantedInputs, TakesHundredsOfShapesForConsequencesOfOneLength) {
  const Tensor w = input({DType::kF32, Shape{64, 64}}, "w", InputKind::kParameter);
  const auto body = [&](bool again) {
    const std::int64_t t = again ? 64 : 32;  // a plain ratio
    Tensor x = input({DType::kF32, Shape{{2, "batch"}, {t, "length"}, 64}}, "batch.x");
    for (int layer = 0; layer < 60; ++layer) {
      const Tensor rows = reshape(x, Shape{2 * t, 64});
      const Tensor next = reshape(matmul(rows, w), Shape{2, t, 64});
      const Tensor centred = next - broadcast_in_dim(mean(next, {2}), next.shape(), {0, 1});
      x = x + centred * (1.0 / static_cast<double>(t));
    }
    return std::vector{mean(x, {0, 1, 2})};
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre("input_shape batch.x[length]: 32 -> 64"));
  EXPECT_GE(last.derived(), 100U);
}

TEST_F(PlantedInputs, TakesNumbersComputedFromASizeForConsequences) {
  for (const auto& [from, to] : {std::pair{57, 61}, std::pair{32, 64}, std::pair{100, 101}}) {
    Planted plant;
    const auto record = [&](int n) {
      const Tensor x = plant.input({DType::kF32, Shape{{4, "batch"}, {n, "length"}}}, "batch.x");
      const Tensor scaled =
          x * (1.0 / n) + x * std::sqrt(double(n)) - x * (1.0 / std::sqrt(4.0 * n));
      return std::vector{sum(scaled * (n - 1.0)) / (4.0 * n)};
    };
    {
      const auto held = record(from);
      plant.cut();
    }
    const auto held = record(to);
    EXPECT_THAT(causes_of(plant.cut()),
                ElementsAre(fmt::format("input_shape batch.x[length]: {} -> {}", from, to)));
  }
}

TEST_F(PlantedInputs, NamesAConstantBesideALengthThatDoesNotExplainIt) {
  const auto body = [&](bool again) {
    const Tensor x = input({DType::kF32, Shape{{again ? 64 : 32, "length"}}}, "batch.x");
    const double rate = again ? 0.2 : 0.1;
    line = __LINE__ + 1;
    return std::vector{sum(x * rate)};
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre("input_shape batch.x[length]: 32 -> 64"));
  EXPECT_EQ(last.text(),
            fmt::format("batch.x[length]: 32 -> 64; with what may follow from it: constant f32[] "
                        "planted_inputs_test.cpp:{}: 0.1 -> 0.2",
                        line));
}

TEST_F(PlantedInputs, TakesATableBesidePositionsForWhatMayFollowFromTheLength) {
  const auto body = [&](bool of_positions, bool again) {
    const std::int64_t n = again ? 12 : 8;
    const Tensor x = input({DType::kF32, Shape{{n, "length"}, 2}}, "batch.x");
    const Tensor w = input({DType::kF32, Shape{8, 2}}, "w");
    const std::vector<float> values = {1, again ? 0.0063F : 0.0074F};
    const Tensor table = context.constant(HostTensor::of(Shape{2}, values));
    const Tensor positions = iota(context, Shape{n, 2}, 0, DType::kF32);
    const Tensor angle = cos(of_positions ? positions * table : positions * 0.3);
    return std::vector{sum(x * angle), sum(of_positions ? w : w * table)};
  };
  EXPECT_THAT(told([&](bool again) { return body(true, again); }),
              ElementsAre("input_shape batch.x[length]: 8 -> 12"));
  EXPECT_THAT(last.text(), testing::HasSubstr("with what may follow from it: constant f32[2] "));
  history = {};
  EXPECT_THAT(told([&](bool again) { return body(false, again); }),
              ElementsAre("input_shape batch.x[length]: 8 -> 12",
                          testing::StartsWith("constant constant f32[2] ")));
}

TEST_F(PlantedInputs, TakesPadsAndCropsOfSizesForWhatMayFollowFromThem) {
  const auto body = [&](std::int64_t side, std::int64_t more_channels) {
    const std::int64_t extra = (4 - side % 4) % 4;
    Tensor x = input({DType::kF32, Shape{2, 3, {side, "height"}, {side, "width"}}}, "batch.image");
    if (more_channels > 0) x = pad(x, 0, {0, 0, 0, 0}, {0, more_channels, 0, 0});
    const Tensor p = extra > 0 ? pad(x, 0, {0, 0, 0, 0}, {0, 0, extra, extra}) : x;
    const Tensor y = tanh(p);
    const Tensor crop = extra > 0 ? slice_dim(slice_dim(y, 2, 0, side), 3, 0, side) : y;
    return std::vector{sum(y), sum(crop * crop)};
  };
  for (const auto& [from, to] : {std::pair{8, 10}, std::pair{10, 8}, std::pair{10, 12}}) {
    history = {};
    EXPECT_THAT(told([&] { return body(from, 0); }, [&] { return body(to, 0); }),
                ElementsAre(fmt::format("input_shape batch.image[height]: {} -> {}", from, to),
                            fmt::format("input_shape batch.image[width]: {} -> {}", from, to)));
    EXPECT_THAT(last.text(), testing::HasSubstr("with what may follow from it: "));
  }
  history = {};
  EXPECT_THAT(told([&] { return body(8, 0); }, [&] { return body(12, 1); }),
              testing::Contains(testing::StartsWith("op_added pad ")));
}

TEST_F(PlantedInputs, HidesNoNumberThatTheLengthCannotReach) {
  const auto body = [&](bool again) {
    const Tensor x = input({DType::kF32, Shape{{again ? 5 : 3, "length"}}}, "batch.x");
    const Tensor w = input({DType::kF32, Shape{4}}, "w");
    line = __LINE__ + 1;
    return std::vector{sum(x), w * (again ? 2.5 : 1.5)};  // 5/2, 3/2
  };
  const auto causes = told(body);
  EXPECT_THAT(
      causes,
      ElementsAre(
          "input_shape batch.x[length]: 3 -> 5",
          fmt::format("constant constant f32[] planted_inputs_test.cpp:{}: 1.5 -> 2.5", line)));
}

TEST_F(PlantedInputs, TakesTheNumberOfAMeanOverTwoSizesForAConsequence) {
  const auto body = [&](bool again) {
    const Tensor x =
        input({DType::kF32, Shape{2, {again ? 6 : 4, "h"}, {again ? 6 : 4, "w"}}}, "batch.x");
    return std::vector{mean(x, {1, 2})};
  };
  EXPECT_THAT(told(body),
              ElementsAre("input_shape batch.x[h]: 4 -> 6", "input_shape batch.x[w]: 4 -> 6"));
  EXPECT_EQ(last.text(), "batch.x[h]: 4 -> 6; batch.x[w]: 4 -> 6");
}

TEST_F(PlantedInputs, TellsToPadNoFieldOfAFixedSize) {
  const auto body = [&](bool again) {
    return std::vector{sum(input({DType::kF32, Shape{8, again ? 6 : 4}}, "batch.x"))};
  };
  told(body);
  EXPECT_THAT(std::string(last.remedy()), testing::StartsWith("give all samples one size"));
}

TEST_F(PlantedInputs, TakesALoopOverTheLengthForAConsequence) {
  const auto body = [&](bool again) {
    const std::int64_t t = again ? 7 : 5;
    const Tensor x = input({DType::kF32, Shape{{t, "length"}, 3}}, "batch.x");
    Tensor h = reshape(slice(x, {0, 0}, {1, 3}, {1, 1}), Shape{3});
    for (std::int64_t i = 1; i < t; ++i)
      h = tanh(h + reshape(slice(x, {i, 0}, {i + 1, 3}, {1, 1}), Shape{3}));
    return std::vector{sum(h)};
  };
  const auto causes = told(body);
  EXPECT_THAT(causes, ElementsAre("input_shape batch.x[length]: 5 -> 7"));
}

}  // namespace
}  // namespace lockstep
