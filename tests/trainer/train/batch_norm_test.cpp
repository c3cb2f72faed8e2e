// Batch normalization in whole steps: statistics of micro-batches, buffers in the update program.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "checkpoint/restore.h"
#include "core/base/rng.h"
#include "core/nn/norm.h"
#include "core/trace/remat.h"
#include "tests/core/engine/rank.h"
#include "tests/ranks/on_ranks.h"
#include "trainer/optimizers/sgd.h"
#include "trainer/train/checkpoint_writer.h"
#include "trainer/train/training_step.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

constexpr std::int64_t kChannels = 3, kMicroBatches = 4;
const Shape kImage{2, kChannels, 4, 5};  // of a micro-batch
constexpr std::int64_t kPlane = 20;
constexpr std::int64_t kPerChannel = 2 * kPlane;
constexpr double kMomentum = 0.1, kEps = 1e-5;

struct BatchNormNet : Module {
  BatchNorm2d bn{*this, "bn", kChannels, kEps, kMomentum};
  bool recomputed = false;  ///< in the backward pass
  Loss operator()(const Batch& batch) const {
    const Tensor y = recomputed ? remat(bn, batch["x"]) : bn(batch["x"]);
    return {.sum = batch.masked_sum(y * batch["weight"]), .count = batch.count()};
  }
};

/// Every micro-batch has a mean and a spread of its own, so that nothing but per-micro-batch
/// statistics agrees with per-micro-batch statistics.
HostTensor image_of(std::int64_t step, std::int64_t micro_batch, float offset = 0) {
  std::vector<float> x(static_cast<std::size_t>(kImage.elements()));
  random_normal({.seed = 3,
                 .stream = 1,
                 .step = static_cast<std::uint64_t>(step),
                 .micro_batch = static_cast<std::uint32_t>(micro_batch)},
                0, x);
  for (float& v : x)
    v = v * static_cast<float>(1 + micro_batch) + static_cast<float>(2 * micro_batch - step) +
        offset;
  return HostTensor::of(kImage, x);
}

/// What the loss multiplies the result with: else its gradient would be zero.
HostTensor weight_of(std::int64_t micro_batch) {
  std::vector<float> w(static_cast<std::size_t>(kImage.elements()));
  random_normal(
      {.seed = 4, .stream = 2, .step = 0, .micro_batch = static_cast<std::uint32_t>(micro_batch)},
      0, w);
  return HostTensor::of(kImage, w);
}

/// A rank that trains the net on micro-batches [first, first + count) of every step.
struct BatchNormTraining : Rank {
  BatchNormTraining(Communicator& communicator, std::int64_t first_, std::int64_t count_)
      : Rank(communicator), first(first_), count(count_) {
    begin_state(state, engine, communicator, 1);
    make_state_finite(state, engine);
  }

  StepSummary step(std::int64_t number, float poison = 0, float offset = 0) {
    std::vector<HostTensor> x, weight;
    for (std::int64_t s = first; s < first + count; ++s) {
      x.push_back(image_of(number, s, offset));
      if (s == 0) x.back().as<float>()[7] += poison;
      weight.push_back(weight_of(s));
    }
    return step_on(number, std::move(x), std::move(weight));
  }
  StepSummary step_on(std::int64_t number, std::vector<HostTensor> x,
                      std::vector<HostTensor> weight) {
    const Batch batch({{"x", engine.to_device(std::move(x), InputKind::kBatch, "x")},
                       {"weight", engine.to_device(std::move(weight), InputKind::kBatch, "w")}});
    const StepNumbers numbers = record_step(state, [&](const Batch& b) { return net(b); }, batch,
                                            make_step_inputs(engine, first, count, 1),
                                            {.step = number, .learning_rate = 0.5});
    engine.mark_step();
    return numbers.read();
  }
  std::vector<double> buffer(std::size_t i) {
    return to_doubles(net.buffers().all()[i].value.to_host());
  }
  /// All that is saved, by label, bit for bit.
  std::map<std::string, std::string> bits() {
    std::map<std::string, std::string> out;
    for (const StateTensor& tensor : state_tensors(state)) {
      if (!is_saved(tensor)) continue;
      const HostTensor host = tensor.value->to_host();
      out[tensor.label()].assign(reinterpret_cast<const char*>(host.bytes().data()),
                                 host.bytes().size());
    }
    return out;
  }

  std::int64_t first, count;
  BatchNormNet net;
  TrainingState state{net, Sgd{.momentum = 0.9, .weight_decay = 0}, DType::kF32};
};

struct Alone {
  std::unique_ptr<Communicator> communicator = make_single_communicator();
  BatchNormTraining rank{*communicator, 0, kMicroBatches};
};

struct Statistics {
  std::vector<double> mean = std::vector<double>(kChannels, 0.0);
  std::vector<double> variance = std::vector<double>(kChannels, 0.0);  ///< unbiased
};

/// The mean over the micro-batches of a step of their statistics, in f64.
Statistics statistics_of(std::int64_t step, float offset = 0) {
  Statistics out;
  for (std::int64_t s = 0; s < kMicroBatches; ++s) {
    const std::vector<double> x = to_doubles(image_of(step, s, offset));
    for (std::int64_t c = 0; c < kChannels; ++c) {
      std::vector<double> values;
      for (std::int64_t i = 0; i < kImage.elements(); ++i)
        if (i / kPlane % kChannels == c) values.push_back(x[static_cast<std::size_t>(i)]);
      double mean = 0, variance = 0;
      for (const double v : values) mean += v / kPerChannel;
      for (const double v : values) variance += (v - mean) * (v - mean) / (kPerChannel - 1);
      out.mean[static_cast<std::size_t>(c)] += mean / kMicroBatches;
      out.variance[static_cast<std::size_t>(c)] += variance / kMicroBatches;
    }
  }
  return out;
}

/// No |x - mean| or |x| is larger.
double largest_value(std::int64_t steps) {
  double out = 0;
  for (std::int64_t step = 0; step < steps; ++step)
    for (std::int64_t s = 0; s < kMicroBatches; ++s)
      for (const double x : to_doubles(image_of(step, s))) out = std::max(out, std::abs(x));
  return 2 * out;
}

TEST(BatchNorm, AveragesTheStatisticsOfMicroBatches) {
  constexpr std::int64_t kSteps = 3;
  Alone alone;
  std::vector<double> mean(kChannels, 0.0), variance(kChannels, 1.0);
  for (std::int64_t step = 0; step < kSteps; ++step) {
    EXPECT_TRUE(alone.rank.step(step).finite);
    const Statistics expected = statistics_of(step);
    for (std::size_t c = 0; c < kChannels; ++c) {
      mean[c] += kMomentum * (expected.mean[c] - mean[c]);
      variance[c] += kMomentum * (expected.variance[c] - variance[c]);
    }
  }
  // Sums of n values of at most M are off by n u M, sums over micro-batches by as many u as
  // micro-batches, and each step rounds five times more. A squared value is off by twice a value's
  // error and its own.
  const double u = std::ldexp(1.0, -24);
  const double terms = kPerChannel + kMicroBatches + 5 * kSteps;
  const double most = largest_value(kSteps);
  for (std::size_t c = 0; c < kChannels; ++c) {
    EXPECT_NEAR(alone.rank.buffer(0)[c], mean[c], terms * u * most) << c;
    EXPECT_NEAR(alone.rank.buffer(1)[c], variance[c], 3 * terms * u * most * most) << c;
  }
  EXPECT_THAT(alone.rank.buffer(2), ElementsAre(kSteps)) << "once a step, not once a micro-batch";
}

// What is summed are distances from a number near the mean, no larger for the offset, which takes
// the variance to within the bound from above. Squares of the values themselves would miss it by
// the offset's square, ten thousand times as much.
TEST(BatchNorm, KeepsTheDigitsOfAVarianceFarFromZero) {
  constexpr float kOffset = 4096;
  Alone alone;
  EXPECT_TRUE(alone.rank.step(0, 0, kOffset).finite);
  const Statistics expected = statistics_of(0, kOffset);
  const double u = std::ldexp(1.0, -24);
  const double terms = kPerChannel + kMicroBatches + 5;
  const double most = largest_value(1);
  ASSERT_LT(100 * most, kOffset);
  for (std::size_t c = 0; c < kChannels; ++c) {
    const double variance = 1 + kMomentum * (expected.variance[c] - 1);
    EXPECT_NEAR(alone.rank.buffer(1)[c], variance, 3 * terms * u * most * most) << c;
  }
}

TEST(BatchNorm, OfAChannelThatDoesNotVaryHasNoVariance) {
  Alone alone;
  std::vector<HostTensor> x, weight;
  for (std::int64_t s = 0; s < kMicroBatches; ++s) {
    x.push_back(HostTensor::of(
        kImage, std::vector<float>(static_cast<std::size_t>(kImage.elements()), 0.3F)));
    weight.push_back(weight_of(s));
  }
  EXPECT_TRUE(alone.rank.step_on(0, x, weight).finite);
  // The mean of five equal numbers is off by some halves of their last place.
  const double square = std::pow(5 * 0.3 * std::ldexp(1.0, -24), 2);
  for (const double variance : alone.rank.buffer(1)) {
    EXPECT_GE(variance, static_cast<float>(1 - kMomentum) * (1 - 1e-7));
    EXPECT_LE(variance, (1 - kMomentum) * (1 + 1e-7) + square);
  }
}

TEST(BatchNorm, KeepsItsBuffersInAStepThatIsLeftOut) {
  Alone alone;
  alone.rank.step(0);
  const auto before = alone.rank.bits();
  EXPECT_FALSE(alone.rank.step(1, std::numeric_limits<float>::infinity()).finite);
  EXPECT_EQ(alone.rank.bits(), before);
  EXPECT_TRUE(alone.rank.step(1).finite);
  EXPECT_THAT(alone.rank.buffer(2), ElementsAre(2));
}

TEST(BatchNorm, GivesTheSameBitsOnAnyNumberOfRanks) {
  const auto train = [](BatchNormTraining& rank) {
    for (std::int64_t step = 0; step < 3; ++step) rank.step(step);
    return rank.bits();
  };
  Alone alone;
  const auto expected = train(alone.rank);
  EXPECT_EQ(expected.size(), 2U + 3U + 2U) << "parameters, buffers, momenta";
  for (const int ranks : {2, 4}) {
    on_ranks(ranks, [&](Communicator& communicator) {
      const std::int64_t count = kMicroBatches / ranks;
      BatchNormTraining rank(communicator, communicator.rank() * count, count);
      EXPECT_EQ(train(rank), expected) << ranks << " ranks";
    });
  }
}

TEST(BatchNorm, CountsOnceWhereItIsComputedAgain) {
  Alone kept, recomputed;
  recomputed.rank.net.recomputed = true;
  for (std::int64_t step = 0; step < 2; ++step) {
    kept.rank.step(step);
    recomputed.rank.step(step);
  }
  EXPECT_EQ(recomputed.rank.bits(), kept.rank.bits());
  EXPECT_THAT(recomputed.rank.buffer(2), ElementsAre(2));
}

TEST(BatchNorm, GoesOnFromACheckpoint) {
  const auto folder =
      std::filesystem::path(testing::TempDir()) / fmt::format("batch_norm_{}", getpid());
  Alone saved;
  saved.rank.step(0);
  {
    CheckpointWriter::Options options;
    options.folder = folder.string();
    CheckpointWriter writer(std::move(options), saved.rank.state, saved.rank.spans, Log::null());
    writer.submit(saved.rank.engine);
    writer.release();
    EXPECT_EQ(writer.wait().text, "");
  }
  EXPECT_EQ(load(folder.string()).model.at("bn.num_batches_tracked").dtype(), DType::kI64);

  Alone resumed;
  const auto checkpoint = SharedCheckpoint::open(
      *resumed.communicator, [&] { return std::optional(open_checkpoint(folder.string())); });
  ASSERT_TRUE(checkpoint);
  EXPECT_NE(resumed.rank.bits(), saved.rank.bits());
  restore(resumed.rank.state, resumed.rank.engine, *checkpoint);
  EXPECT_EQ(resumed.rank.bits(), saved.rank.bits());
  saved.rank.step(1);
  resumed.rank.step(1);
  EXPECT_EQ(resumed.rank.bits(), saved.rank.bits());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace lockstep
