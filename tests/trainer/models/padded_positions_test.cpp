// The contents of padded positions change no bit of training or evaluation, even where a sample has
// no token at all.
#include <gtest/gtest.h>

#include <cmath>

#include "data/tokens/document_dataset.h"
#include "data/tokens/masking.h"
#include "tests/trainer/train/user_program.h"
#include "trainer/models/bert/bert.h"
#include "trainer/models/gpt2/gpt2.h"
#include "trainer/optimizers/adamw.h"

namespace lockstep {
namespace {

constexpr std::int64_t kVocabulary = 13;

struct PaddedPositions : UserProgram {};

/// Documents of 0 (if there is one without tokens) to 17 tokens.
Documents documents_of_many_lengths(bool with_an_empty_one) {
  Documents out{.files = {"x"}, .all = {}};
  for (std::int64_t i = 0; i < 16; ++i) {
    const std::int64_t length = with_an_empty_one && i == 3 ? 0 : 2 + i;
    Document document{.tokens = {}, .place = {0, i + 1}, .label = static_cast<std::int32_t>(i % 2)};
    for (std::int64_t k = 0; k < length; ++k)
      document.tokens.push_back(static_cast<std::int32_t>((7 * i + 3 * k) % kVocabulary));
    out.all.push_back(std::move(document));
  }
  return out;
}

/// Every parameter after 5 steps, the losses and that of an evaluation, with this padding.
template <class M>
std::vector<float> trained(UserProgram& program, const typename M::Config& config,
                           const DatasetPtr& dataset, double pad) {
  Session session(ProcessCall{program.words, program.settings, program.watch}, {});
  M model(config, DataFacts{.vocab_size = kVocabulary});
  Trainer trainer(session, model, AdamW{.learning_rate = 1e-2});
  const Padding padding{.mode = PaddingMode::kLongest, .pad_values = {{"tokens", pad}}};
  const DataLoader data(
      session, dataset,
      {.global_batch_size = 8, .micro_batch_size = 4, .padding = padding, .eval_batch_size = 3});
  std::vector<float> out;
  for (const Batch& batch : trainer.steps(data, 5)) {
    const StepResult step = trainer.step(batch, model);
    out.push_back(static_cast<float>(step.loss().value()));
  }
  out.push_back(static_cast<float>(trainer.evaluate(data, model).at("loss")));
  for (const Parameter& parameter : model.parameters().all()) {
    const HostTensor host = parameter.value.to_host();
    const auto values = host.as<const float>();
    out.insert(out.end(), values.begin(), values.end());
  }
  session.finish();
  return out;
}

template <class M>
void expect_no_bit_to_differ(UserProgram& program, const typename M::Config& config,
                             const DatasetPtr& dataset) {
  const std::vector<float> zeros = trained<M>(program, config, dataset, 0);
  for (const float value : zeros) ASSERT_TRUE(std::isfinite(value));
  EXPECT_EQ(trained<M>(program, config, dataset, kVocabulary - 1), zeros);
}

TEST_F(PaddedPositions, OfADecoder) {
  Gpt2Config config{.n_layer = 2, .n_head = 2, .n_embd = 16, .n_positions = 32};
  config.attn_pdrop = config.embd_pdrop = config.resid_pdrop = 0.1;
  expect_no_bit_to_differ<Gpt2>(*this, config,
                                std::make_shared<DocumentDataset>(documents_of_many_lengths(false),
                                                                  DocumentFields::kNextToken, 0));
}

BertConfig small_bert() {
  BertConfig config;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 2;
  config.hidden_size = 16;
  config.intermediate_size = 24;
  config.max_position_embeddings = 32;
  return config;
}

TEST_F(PaddedPositions, OfAMaskedModel) {
  const auto documents = std::make_shared<DocumentDataset>(documents_of_many_lengths(true),
                                                           DocumentFields::kTokens, 0);
  const MaskVocabulary vocabulary{.mask = 5, .size = kVocabulary};
  expect_no_bit_to_differ<Bert>(
      *this, small_bert(),
      std::make_shared<MaskedDataset>(documents, vocabulary, Masking{.probability = 0.5}));
}

}  // namespace
}  // namespace lockstep
