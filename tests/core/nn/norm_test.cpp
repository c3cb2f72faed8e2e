// Normalizations on numbers that can be checked by hand; tests/trainer/batch_norm_test.cpp tests
// batch normalization in steps.
#include "core/nn/norm.h"

#include <cmath>

#include "core/base/error.h"
#include "core/trace/mode.h"
#include "tests/core/nn/layer_fixture.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

using Norms = LayerTest;

TEST_F(Norms, LayerNormNormalizesRows) {
  const LayerNorm layer(root, "ln_f", 3, 0.0);
  value_of_parameter("ln_f.weight") = counting(Shape{3});
  value_of_parameter("ln_f.bias") = counting(Shape{3}, 10);
  const float third = std::sqrt(1.5F);  // (3 - 2) / sqrt(2/3)
  EXPECT_THAT(value_of(layer(counting(Shape{2, 3}))),
              Pointwise(FloatNear(1e-5F),
                        {10 - third, 20.0F, 30 + 3 * third, 10 - third, 20.0F, 30 + 3 * third}));
  EXPECT_EQ(initial_value(parameter("ln_f.weight"), 1).as<float>()[0], 1);
  EXPECT_EQ(initial_value(parameter("ln_f.bias"), 1).as<float>()[0], 0);
}

TEST_F(Norms, RmsNormDividesByTheRootMeanSquare) {
  const RMSNorm layer(root, "norm", 2, 0.0);
  EXPECT_EQ(initial_value(parameter("norm.weight"), 1).as<float>()[1], 1);
  value_of_parameter("norm.weight") = counting(Shape{2});
  const Tensor x = value(HostTensor::of<float>(Shape{1, 2}, std::vector<float>{1, 7}));
  EXPECT_THAT(value_of(layer(x)), Pointwise(FloatNear(1e-6F), {0.2F, 2.8F}))
      << "the root mean square of 1 and 7 is 5";
}

TEST_F(Norms, KeepTheDtypeOfTheirInput) {
  const RMSNorm rms(root, "norm", 2);
  const BatchNorm2d batch_norm(root, "bn", 2);
  for (Parameter& p : parameters.all()) p.value = counting(p.shape);
  for (ModuleBuffer& b : root.buffers().all()) b.value = value(b.initial);
  const Tensor x = convert(counting(Shape{1, 2, 1, 2}), DType::kBF16);
  EXPECT_EQ(rms(x).type().to_string(), "bf16[1,2,1,2]");
  EXPECT_EQ(batch_norm(x).type().to_string(), "bf16[1,2,1,2]");
}

TEST_F(Norms, BatchNormHasThePartsOfPyTorchs) {
  const BatchNorm2d layer(root, "bn1", 3);
  EXPECT_EQ(parameter("bn1.weight").kind, ParameterKind::kVector);
  EXPECT_EQ(initial_value(parameter("bn1.weight"), 1).as<float>()[2], 1);
  EXPECT_EQ(initial_value(parameter("bn1.bias"), 1).as<float>()[2], 0);
  std::vector<std::string> buffers;
  for (const ModuleBuffer& b : root.buffers().all())
    buffers.push_back(fmt::format("{} {}{} from {}", b.name, name_of(b.dtype()),
                                  b.shape().to_string(), to_doubles(b.initial)[0]));
  EXPECT_THAT(buffers,
              ElementsAre("bn1.running_mean f32[3] from 0", "bn1.running_var f32[3] from 1",
                          "bn1.num_batches_tracked i64[] from 0"));
}

TEST_F(Norms, BatchNormBeginsWithTheWeightItIsGiven) {
  const BatchNorm2d one(root, "one", 2), zero(root, "zero", 2, 1e-5, 0.1, 0.0);
  EXPECT_EQ(parameter("one.weight").initializer.a, 1.0);
  EXPECT_EQ(parameter("zero.weight").initializer.a, 0.0);
}

TEST_F(Norms, BatchNormEvaluatesWithRunningStatistics) {
  const BatchNorm2d layer(root, "bn", 2, 0.0);
  value_of_parameter("bn.weight") = counting(Shape{2});
  value_of_parameter("bn.bias") = counting(Shape{2}, 100);
  root.buffers().all()[0].value = counting(Shape{2});
  root.buffers().all()[1].value = counting(Shape{2}, 4);
  // Channel 0: (x - 1) / 2 + 100; channel 1: 2 (x - 2) / sqrt(8) + 200.
  EXPECT_THAT(value_of(layer(counting(Shape{1, 2, 1, 2}))),
              Pointwise(FloatNear(1e-4F),
                        {100.0F, 100.5F, 200 + 2 / std::sqrt(8.0F), 200 + 4 / std::sqrt(8.0F)}));
}

TEST_F(Norms, BatchNormRefusesWhatHasNoChannelsOrNoVariance) {
  const BatchNorm2d layer(root, "bn", 2);
  for (Parameter& p : parameters.all()) p.value = counting(p.shape);
  const Tensor image = counting(Shape{2, 3, 1, 1}), one = counting(Shape{1, 2, 1, 1});
  EXPECT_THAT([&] { (void)layer(image); },
              testing::ThrowsMessage<Error>(fmt::format(
                  "norm_test.cpp:{} (bn): batch normalization 'bn' takes [N,2,H,W], not "
                  "f32[2,3,1,1]",
                  __LINE__ - 4)));
  const ModeScope training(context, {.training = true});
  EXPECT_THAT([&] { (void)layer(one); },
              testing::ThrowsMessage<Error>(fmt::format(
                  "norm_test.cpp:{} (bn): batch normalization 'bn' needs more than one value per "
                  "channel to train, and f32[1,2,1,1] has 1: take a larger "
                  "training.micro_batch_size",
                  __LINE__ - 5)));
}

TEST_F(Norms, RecordUnderTheirPathWithTheModelsLine) {
  const RMSNorm rms(root, "h.norm", 2);
  value_of_parameter("h.norm.weight") = counting(Shape{2});
  const Tensor x = counting(Shape{1, 2});
  const int line = __LINE__ + 1;
  const Tensor y = rms(x);
  expect_origin(fmt::format("norm_test.cpp:{} (h.norm)", line));
}

}  // namespace
}  // namespace lockstep
