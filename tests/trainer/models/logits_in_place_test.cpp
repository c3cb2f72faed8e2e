// What a masked model says of one token of each sequence is what its loss is of.
#include <gtest/gtest.h>

#include "core/trace/functions.h"
#include "tests/fixtures/error_of.h"
#include "tests/trainer/train/user_program.h"
#include "trainer/models/bert/bert.h"
#include "trainer/models/gpt2/gpt2.h"
#include "trainer/train/training_step.h"

namespace lockstep {
namespace {

struct LogitsInPlace : UserProgram {};

TEST_F(LogitsInPlace, AreThoseOfTheLoss) {
  constexpr std::int64_t kWords = 13;
  BertConfig config;
  config.num_hidden_layers = 1;
  config.num_attention_heads = 2;
  config.hidden_size = 16;
  config.intermediate_size = 24;
  config.max_position_embeddings = 4;
  config.initializer_range = 0.5;  // far from equal likelihoods
  Session session(ProcessCall{words, settings, watch}, {});
  Bert model(config, DataFacts{.vocab_size = kWords});
  session.initialize(model, 1);
  using Ids = std::vector<std::int32_t>;
  const auto ids = [&](const Shape& shape, const Ids& values, const char* name) {
    return session.tensor(HostTensor::of(shape, values), name);
  };
  const Batch batch(
      {{"tokens", ids(Shape{2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}, "tokens")},
       {"targets", ids(Shape{2, 4}, {-100, 9, -100, -100, -100, -100, -100, 12}, "y")},
       {"position", ids(Shape{2}, {1, 3}, "position")},
       {"label", ids(Shape{2}, {9, 12}, "label")}});
  const LossFunction both = [&](const Batch& given) {
    Loss out = model(given);
    out.outputs["losses"] = cross_entropy(model.logits_in_place(given), given["label"]);
    return out;
  };
  const Loss loss = record_evaluation(both, batch, DType::kF32);
  const Tensor losses = loss.outputs.at("losses");
  const std::vector<double> each = to_doubles(losses.to_host());
  ASSERT_EQ(each.size(), 2U);
  EXPECT_NE(each[0], each[1]);
  EXPECT_NEAR(each[0] + each[1], loss.sum.item(), 1e-5 * loss.sum.item());  // f32, other kernels
  session.finish();
}

TEST_F(LogitsInPlace, AreOfMaskedModels) {
  const Gpt2 model({.n_layer = 1, .n_head = 1, .n_embd = 4, .n_positions = 4},
                   DataFacts{.vocab_size = 5});
  EXPECT_EQ(usage_error([&] { model.logits_in_place(Batch()); }),
            "this model does not predict masked tokens");
}

}  // namespace
}  // namespace lockstep
