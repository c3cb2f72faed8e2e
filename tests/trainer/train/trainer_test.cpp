// Programs of users: a module, a dataset, and what the trainer makes of them.
#include "trainer/train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <stdexcept>

#include "checkpoint/restore.h"
#include "core/base/error.h"
#include "core/trace/gradients.h"
#include "tests/fixtures/error_of.h"
#include "tests/trainer/train/user_program.h"
#include "trainer/job/rank_runtime.h"
#include "trainer/optimizers/adamw.h"
#include "trainer/optimizers/sgd.h"

namespace lockstep {
namespace {

using testing::HasSubstr;

static_assert(!std::is_copy_constructible_v<Linear> && !std::is_move_constructible_v<Linear>);

struct Program : UserProgram {};

std::vector<float> numbers_of(const Tensor& tensor) {
  const HostTensor host = tensor.to_host();
  const auto values = host.as<const float>();
  return {values.begin(), values.end()};
}

TEST_F(Program, LearnsAndEvaluatesWhatItsHandsWouldCompute) {
  Session session(ProcessCall{words, settings, watch}, {});
  Net net;
  Trainer trainer(session, net, AdamW{.learning_rate = 1e-2});
  const DataLoader data(session, points(100), {.global_batch_size = 32, .micro_batch_size = 8});
  double first = 0;
  double last = 0;
  for (const Batch& batch : trainer.steps(data, 60)) {
    const StepResult step = trainer.step(batch, net);
    if (step.number() == 1) first = step.loss().value();
    if (step.number() == 60) last = step.loss().value();
  }
  EXPECT_EQ(trainer.step_number(), 60);
  EXPECT_LT(last, first / 2);

  // 100 samples in batches of 8: the last batch has 4 that do not count.
  const std::vector<float> w1 = numbers_of(net.in.parameters().all()[0].value);
  const std::vector<float> b1 = numbers_of(net.in.parameters().all()[1].value);
  const std::vector<float> w2 = numbers_of(net.in.parameters().all()[2].value);
  const std::vector<float> b2 = numbers_of(net.in.parameters().all()[3].value);
  double sum = 0;
  for (int i = 0; i < 100; ++i) {
    const Sample sample = data.dataset()->get(i);
    const auto x = sample.at("x").as<const float>();
    double y = b2[0];
    for (std::size_t j = 0; j < 8; ++j)
      y += w2[j] * std::max(0.0, double{w1[2 * j]} * x[0] + double{w1[2 * j + 1]} * x[1] + b1[j]);
    sum += std::pow(y - sample.at("y").as<const float>()[0], 2);
  }
  const double loss = trainer.evaluate(data, net).at("loss");
  // f32 arithmetic on sums of 8 products: a few ulp of each term.
  EXPECT_NEAR(loss, sum / 100, 1e-5 * (1 + loss));
  session.finish();
}

TEST_F(Program, GoesOnWhereItWasAndEndsWithTheSameBits) {
  const auto train = [&](const std::string& run, std::int64_t steps, const std::string& resume) {
    Session session(ProcessCall{words, settings, watch}, {});
    Net net;
    Trainer trainer(session, net, AdamW{},
                    {.run = folder / run, .checkpoint = {.resume = resume, .save_interval = 10}});
    const DataLoader data(session, points(64), {.global_batch_size = 16, .micro_batch_size = 4});
    std::int64_t made = 0;
    for (const Batch& batch : trainer.steps(data, steps)) {
      trainer.step(batch, net);
      ++made;
    }
    session.finish();
    return std::pair(made, numbers_of(net.parameters().all()[0].value));
  };
  const auto whole = train("whole", 35, "none");
  EXPECT_EQ(train("parts", 20, "auto").first, 20);
  const auto rest = train("parts", 35, "auto");
  EXPECT_EQ(whole.first, 35);
  EXPECT_EQ(rest.first, 15);
  EXPECT_EQ(whole.second, rest.second);
}

TEST_F(Program, KeepsWhatIsNotTrainedAndUpdatesGroupsByTheirOwnSettings) {
  Session session(ProcessCall{words, settings, watch}, {});
  Net net;
  net.in.set_trainable(false);
  net.out.set_group("head");
  Trainer trainer(session, net, Sgd{.learning_rate = 0.0, .weight_decay = 0},
                  {.groups = {{"head", Sgd{.learning_rate = 0.1, .weight_decay = 0}}}});
  const std::vector<float> frozen = numbers_of(net.parameters().all()[0].value);
  const std::vector<float> head = numbers_of(net.parameters().all()[2].value);
  const DataLoader data(session, points(64), {.global_batch_size = 16, .micro_batch_size = 16});
  for (const Batch& batch : trainer.steps(data, 3)) trainer.step(batch, net);
  EXPECT_EQ(numbers_of(net.parameters().all()[0].value), frozen);
  EXPECT_NE(numbers_of(net.parameters().all()[2].value), head);
  session.finish();
}

TEST_F(Program, RefusesAGroupThatNobodyIsIn) {
  Session session(ProcessCall{words, settings, watch}, {});
  Net net;
  EXPECT_THAT(error_of([&] {
                Trainer(session, net, Sgd{}, {.groups = {{"head", Sgd{}}}});
              }),
              HasSubstr("no trained parameter is in group 'head'"));
  session.finish();
}

TEST_F(Program, GivesAnyMetricAndLeavesOutThoseThatCountNothing) {
  Session session(ProcessCall{words, settings, watch}, {});
  Net net;
  Trainer trainer(session, net, Sgd{.learning_rate = 0.01});
  const auto loss = [&](const Batch& batch) {
    Loss out = net(batch);
    const Tensor positive = convert(greater(batch["y"], 0.0), DType::kF32);
    out.metrics["share/positive"] = {batch.masked_sum(positive), batch.count()};
    out.metrics["nothing"] = {batch.masked_sum(positive), batch.count() - batch.count()};
    return out;
  };
  const DatasetPtr all = points(48);
  double positive = 0;
  for (int i = 0; i < 48; ++i) positive += all->get(i).at("y").as<const float>()[0] > 0 ? 1 : 0;
  const DataLoader data(session, all, {.global_batch_size = 48, .micro_batch_size = 16});
  for (const Batch& batch : trainer.steps(data, 1)) {
    const StepResult step = trainer.step(batch, loss);
    EXPECT_FLOAT_EQ(static_cast<float>(step.metric("share/positive").value()),
                    static_cast<float>(positive / 48));
    EXPECT_TRUE(std::isnan(step.metric("nothing").value()));
    EXPECT_THAT(
        error_of([&] { (void)step.metric("other").value(); }),
        HasSubstr("the step has no metric 'other'; its metrics are: nothing, share/positive"));
  }
  const MetricValues values = trainer.evaluate(data, loss);
  EXPECT_DOUBLE_EQ(values.at("share/positive"), positive / 48);
  EXPECT_FALSE(values.contains("nothing"));
  session.finish();
}

/// The largest |prediction|, which is no ratio of sums.
struct LargestPrediction : Evaluator {
  std::string partial(const HostBatch& outputs) const override {
    float largest = 0;
    const auto mask = outputs.at("mask").as<const float>();
    const auto y = outputs.at("y").as<const float>();
    for (std::size_t i = 0; i < mask.size(); ++i)
      largest = std::max(largest, mask[i] * std::abs(y[i]));
    return {reinterpret_cast<const char*>(&largest), sizeof largest};
  }
  MetricValues combine(std::span<const std::string> partials,
                       const MetricValues& values) const override {
    float largest = 0;
    for (const std::string& partial : partials) {
      float one = 0;
      std::memcpy(&one, partial.data(), sizeof one);
      largest = std::max(largest, one);
    }
    return {{"largest", largest}, {"root", std::sqrt(values.at("loss"))}};
  }
};

TEST_F(Program, EvaluatorsSeeOutputsOnTheHost) {
  Session session(ProcessCall{words, settings, watch}, {});
  Net net;
  Trainer trainer(session, net, Sgd{});
  const DatasetPtr all = points(21);
  float largest = 0;
  for (int i = 0; i < 21; ++i)
    largest = std::max(largest, std::abs(all->get(i).at("y").as<const float>()[0]));
  const DataLoader data(session, all, {.global_batch_size = 4, .micro_batch_size = 4});
  const auto loss = [&](const Batch& batch) {
    Loss out = net(batch);
    out.outputs["y"] = batch["y"];
    return out;
  };
  const MetricValues values = trainer.evaluate(data, loss, {std::make_shared<LargestPrediction>()});
  EXPECT_EQ(static_cast<float>(values.at("largest")), largest);
  EXPECT_DOUBLE_EQ(values.at("root"), std::sqrt(values.at("loss")));
  session.finish();
}

TEST_F(Program, ALossThatReadsAValueIsRefusedWithItsLine) {
  Session session(ProcessCall{words, settings, watch}, {});
  Net net;
  Trainer trainer(session, net, Sgd{});
  const DataLoader data(session, points(16), {.global_batch_size = 16, .micro_batch_size = 16});
  const auto reads = [&](const Batch& batch) {
    Loss out = net(batch);
    (void)out.sum.item();
    return out;
  };
  for (const Batch& batch : trainer.steps(data, 1)) {
    const std::vector<float> before = numbers_of(net.parameters().all()[0].value);
    EXPECT_THAT(error_of([&] { trainer.step(batch, reads); }),
                testing::AllOf(HasSubstr("trainer_test.cpp:"), HasSubstr("read inside the loss")));
    EXPECT_EQ(numbers_of(net.parameters().all()[0].value), before) << "the trace was discarded";
    trainer.step(batch, net);
  }
  EXPECT_EQ(trainer.step_number(), 1);
  session.finish();
}

TEST_F(Program, ABatchLivesUntilTheNextOne) {
  Session session(ProcessCall{words, settings, watch}, {});
  Net net;
  Trainer trainer(session, net, Sgd{});
  const DataLoader data(session, points(16), {.global_batch_size = 16, .micro_batch_size = 16});
  for (const Batch& batch : trainer.steps(data, 3)) {
    trainer.step(batch, net);
    EXPECT_EQ(batch["x"].size(0), 16);
  }
  session.finish();
}

TEST_F(Program, ABatchWithoutAStepIsRefused) {
  Session session(ProcessCall{words, settings, watch}, {});
  Net net;
  Trainer trainer(session, net, Sgd{});
  const DataLoader data(session, points(16), {.global_batch_size = 16, .micro_batch_size = 16});
  EXPECT_THAT(error_of([&] {
                for (const Batch& batch : trainer.steps(data, 2)) (void)batch;
              }),
              HasSubstr("no step was made of the batch of step 0"));
  session.finish();
}

TEST_F(Program, AStepAfterALoopThatThrewIsRefused) {
  Session session(ProcessCall{words, settings, watch}, {});
  Net net;
  Trainer trainer(session, net, Sgd{});
  const DataLoader data(session, points(8), {.global_batch_size = 8, .micro_batch_size = 8});
  Batch kept;
  const auto loop = [&] {
    for (const Batch& batch : trainer.steps(data, 2)) {
      kept = batch;
      throw std::runtime_error("of the user");
    }
  };
  EXPECT_THROW(loop(), std::runtime_error);
  EXPECT_THAT(error_of([&] { trainer.step(kept, net); }),
              HasSubstr("a step needs a batch of Trainer::steps(), each one once"));
  kept = Batch();
  session.finish();
}

TEST_F(Program, AModuleWithoutValuesOrAfterItsSessionSaysSo) {
  Net net;
  {
    Session session(ProcessCall{words, settings, watch}, {});
    const Tensor x = session.tensor(HostTensor::of<float>({1, 2}, std::vector<float>{1, 2}), "x");
    EXPECT_THAT(error_of([&] { (void)net.in(x); }),
                HasSubstr("parameter 'in.bias' has no value yet"));
    session.initialize(net, 1);
    EXPECT_EQ(numbers_of(net.in(x)).size(), 8U);
    session.finish();
  }
  const Tensor& left = net.parameters().all()[0].value;
  EXPECT_THAT(error_of([&] { (void)numbers_of(left * 2.0); }),
              HasSubstr("after its session had ended"));
  EXPECT_THAT(error_of([&] { (void)left.to_host(); }), HasSubstr("after its session had ended"));
}

TEST_F(Program, ATrainerAfterItsSessionSaysSo) {
  Net net;
  std::optional<Trainer> trainer;
  const DataLoader data(points(16), {.global_batch_size = 16, .micro_batch_size = 16});
  {
    Session session(ProcessCall{words, settings, watch}, {});
    trainer.emplace(session, net, Sgd{}, TrainerOptions{.run = run_folder()});
    session.finish();
  }
  const auto refused = HasSubstr("a trainer was used after its session had ended");
  EXPECT_THAT(error_of([&] { (void)trainer->steps(data, 1); }), refused);
  EXPECT_THAT(error_of([&] { (void)trainer->evaluate(data, net); }), refused);
  EXPECT_THAT(error_of([&] { trainer->save(); }), refused);
}

TEST_F(Program, WordsThatDoNotGoTogetherAreRefused) {
  const auto refused = [&](const std::string& word) {
    words = {word};
    return error_of([&] { Session(ProcessCall{words, settings, watch}, {}); });
  };
  EXPECT_EQ(refused("profile.trace.steps=[100]"),
            "2: 'profile.trace.steps' must be the first and the last step to trace, as in "
            "[100, 110], not [100]");
  EXPECT_THAT(refused("device.compile_cache=no"), HasSubstr("did you mean 'off'?"));
}

TEST_F(Program, AModuleHasOneTrainerAtATime) {
  Session session(ProcessCall{words, settings, watch}, {});
  Net net;
  const DataLoader data(session, points(32), {.global_batch_size = 16, .micro_batch_size = 16});
  {
    Trainer trainer(session, net, Sgd{.learning_rate = 0.1});
    for (const Batch& batch : trainer.steps(data, 2)) trainer.step(batch, net);
    const std::vector<float> trained = numbers_of(net.parameters().all()[0].value);
    for (Module* module : {static_cast<Module*>(&net), static_cast<Module*>(&net.out)})
      EXPECT_THAT(error_of([&] { Trainer(session, *module, Sgd{}); }),
                  HasSubstr("another Trainer trains the module"));
    EXPECT_EQ(numbers_of(net.parameters().all()[0].value), trained);
    Net other;
    const Trainer beside(session, other, Sgd{});
  }
  Trainer next(session, net, Sgd{});
  for (const Batch& batch : next.steps(data, 1)) next.step(batch, net);
  session.finish();
}

TEST_F(Program, WhatAStepComputedIsNoInputOfAnother) {
  Session session(ProcessCall{words, settings, watch}, {});
  Net net;
  Trainer trainer(session, net, Sgd{});
  const DataLoader data(session, points(32), {.global_batch_size = 16, .micro_batch_size = 8});
  Tensor kept;
  const auto keeps = [&](const Batch& batch) {
    Loss out = net(batch);
    if (kept.defined()) out.sum = out.sum + kept;
    kept = stop_gradient(out.sum);
    return out;
  };
  for (const Batch& batch : trainer.steps(data, 2)) {
    if (trainer.step_number() == 0) {
      trainer.step(batch, keeps);
      continue;
    }
    EXPECT_THAT(
        error_of([&] { trainer.step(batch, keeps); }),
        testing::AllOf(HasSubstr("trainer_test.cpp:"),
                       HasSubstr("the loss uses a tensor of f32[] that was computed from its "
                                 "batch before the step was cut")));
    trainer.step(batch, net);
  }
  session.finish();
}

TEST_F(Program, ALossSaysWhatIsWrongWithItsParts) {
  Session session(ProcessCall{words, settings, watch}, {});
  Net net;
  Trainer trainer(session, net, Sgd{});
  const DataLoader data(session, points(16), {.global_batch_size = 16, .micro_batch_size = 16});
  for (const Batch& batch : trainer.steps(data, 1)) {
    const auto error_with = [&](const std::function<void(Loss&, const Batch&)>& change) {
      return error_of([&] {
        trainer.step(batch, [&](const Batch& b) {
          Loss out = net(b);
          change(out, b);
          return out;
        });
      });
    };
    EXPECT_THAT(error_with([](Loss& out, const Batch&) { out.count = Tensor(); }),
                HasSubstr("the count of the loss is missing"));
    EXPECT_THAT(error_with([](Loss& out, const Batch& b) { out.sum = b["x"]; }),
                HasSubstr("the sum of the loss must be a scalar, not f32[16,2]"));
    EXPECT_THAT(error_with([](Loss& out, const Batch&) {
                  out.metrics["b"] = {out.sum, {}};
                }),
                HasSubstr("the count of metric 'b' is missing"));
    EXPECT_THAT(error_with([](Loss& out, const Batch&) {
                  out.metrics["grad_norm"] = {out.sum, out.sum};
                }),
                HasSubstr("a metric cannot be called 'grad_norm'"));
    EXPECT_THAT(error_with([](Loss& out, const Batch& b) {
                  out.sum = b.masked_sum(reduce_sum(b["x"], {0}));
                }),
                testing::AllOf(
                    HasSubstr("trainer_test.cpp:"),
                    HasSubstr("masked_sum takes a value for each of the 16 samples, not f32[2]")));
    trainer.step(batch, net);
  }
  session.finish();
}

struct Counting : Net {
  ModuleBuffer& seen = buffer("seen", HostTensor::of<float>({2}, std::vector<float>{0, 0}));
  ModuleBuffer& steps = buffer("steps", HostTensor::scalar<std::int64_t>(0));
};

TEST_F(Program, ABufferRefusesWhatIsNotOfItsType) {
  Session session(ProcessCall{words, settings, watch}, {});
  Counting net;
  Trainer trainer(session, net, Sgd{});
  const DataLoader data(session, points(16), {.global_batch_size = 16, .micro_batch_size = 16});
  for (const Batch& batch : trainer.steps(data, 1)) {
    EXPECT_THAT(
        error_of([&] {
          trainer.step(batch, [&](const Batch& b) {
            net.seen.update(reduce_sum(b["x"], {0}),
                            [](const Tensor& old, const Tensor& mean) { return sum(old + mean); });
            return net(b);
          });
        }),
        HasSubstr("the update rule of buffer 'seen' gives f32[], but the buffer is f32[2]"));
    EXPECT_THAT(error_of([&] {
                  trainer.step(batch, [&](const Batch& b) {
                    net.steps.blend(sum(b["x"]), 0.5);
                    return net(b);
                  });
                }),
                HasSubstr("buffer 'steps' of i64 is blended"));
    trainer.step(batch, net);
  }
  EXPECT_EQ(numbers_of(net.seen.get()), (std::vector<float>{0, 0}));
  session.finish();
}

struct Broken : Dataset {
  std::int64_t size() const override { return 20; }
  std::vector<FieldSpec> fields() const override {
    return {{.name = "x", .dtype = DType::kF32, .shape = {}}};
  }
  Sample get(std::int64_t index) const override {
    if (index == 13) throw std::runtime_error("no such picture");
    return {{"x", HostTensor::scalar(1.0F)}};
  }
};

TEST_F(Program, ADatasetThatFailsNamesItsSampleWhereverItIsRead) {
  Session session(ProcessCall{words, settings, watch}, {});
  Net net;
  Trainer trainer(session, net, Sgd{});
  const DataLoader data(session, std::make_shared<Broken>(),
                        {.global_batch_size = 4, .micro_batch_size = 4});
  try {
    (void)trainer.steps(data, 1);
    FAIL() << "the digest reads everything";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_STREQ(error.what(), "sample 13 cannot be loaded: no such picture");
  }
  session.finish();
}

TEST_F(Program, AMaskOfAFieldThatHasNoLengthIsRefused) {
  Padding padding;
  padding.mask_of = "x";
  EXPECT_THAT(error_of([&] {
                DataLoader(points(4),
                           {.global_batch_size = 4, .micro_batch_size = 4, .padding = padding});
              }),
              HasSubstr("padding.mask_of is 'x', which is not a field of variable length"));
}

TEST_F(Program, OptionsThatAreNotAllowedAreNamedAsTheUserWroteThem) {
  Session session(ProcessCall{words, settings, watch}, {});
  Net net;
  const auto refusal = [&](const TrainerOptions& options) {
    return error_of([&] { Trainer(session, net, Sgd{}, options); });
  };
  EXPECT_EQ(refusal({.checkpoint = {.keep_last = 0}}),
            "2: 'TrainerOptions::checkpoint.keep_last' must be an integer >= 1, not '0'");
  EXPECT_THAT(refusal({.training = {.gradient_clip_norm = std::nan("")}}),
              HasSubstr("'TrainerOptions::training.gradient_clip_norm' must be a number >= 0"));
  EXPECT_THAT(refusal({.checkpoint = {.resume = "auto"}}), HasSubstr("give TrainerOptions::run"));
  Trainer trainer(session, net, Sgd{}, {.early_stopping = {.metric = "eval/accuracy"}});
  const DataLoader data(session, points(10), {.global_batch_size = 10, .micro_batch_size = 3});
  EXPECT_THAT(error_of([&] { (void)trainer.steps(data, 1); }),
              HasSubstr("'DataLoaderOptions::global_batch_size' 10 is not a multiple"));
  EXPECT_THAT(error_of([&] { (void)trainer.evaluate(data, net); }),
              HasSubstr("TrainerOptions::early_stopping.metric is 'eval/accuracy', but the "
                        "evaluation has no such metric; it has eval/loss"));
  session.finish();
}

}  // namespace
}  // namespace lockstep
