#include "trainer/models/bert/bert.h"

#include "core/base/error.h"
#include "core/trace/mode.h"
#include "core/trace/remat.h"

namespace lockstep {
namespace {

Initializer weights(const BertConfig& config) {
  return Initializer::normal(config.initializer_range);
}

Linear::Options linear_options(const BertConfig& config) {
  return {.weight_init = weights(config), .bias_init = Initializer::constant(0.0)};
}

std::int64_t number_of_labels(const BertConfig& config) {
  LS_USER_CHECK(config.num_labels > 0,
                "model.num_labels must be given: there is no data whose labels could be counted");
  return config.num_labels;
}

}  // namespace

BertEncoder::Embeddings::Embeddings(Module& parent, const BertConfig& config, const DataFacts& data)
    : Module(parent, "embeddings"),
      max_positions(config.max_position_embeddings),
      token_types(config.type_vocab_size),
      word_embeddings(*this, "word_embeddings", vocabulary_size(config.vocab_size, data),
                      config.hidden_size, {.init = weights(config), .attends = true}),
      position_embeddings(*this, "position_embeddings", config.max_position_embeddings,
                          config.hidden_size, {.init = weights(config)}),
      token_type_embeddings(*this, "token_type_embeddings", config.type_vocab_size,
                            config.hidden_size, {.init = weights(config)}),
      norm(*this, "LayerNorm", config.hidden_size, config.layer_norm_eps),
      dropout(*this, "dropout", config.hidden_dropout_prob) {}

Tensor BertEncoder::Embeddings::operator()(const TokenInputs& sequence) const {
  const std::int64_t time = sequence.tokens.size(1);
  LS_USER_CHECK(time <= max_positions,
                "a sequence of {} tokens is longer than model.max_position_embeddings {}", time,
                max_positions);
  LS_USER_CHECK(!sequence.token_types.defined() || token_types >= 2,
                "pairs of texts have tokens of 2 types, but model.type_vocab_size is {}",
                token_types);
  const Tensor positions = sequence.layout.positions.defined()
                               ? position_embeddings(sequence.layout.positions)       // [B,T,C]
                               : slice_dim(position_embeddings.table(), 0, 0, time);  // [T,C]
  const Tensor types = sequence.token_types.defined()
                           ? token_type_embeddings(sequence.token_types)         // [B,T,C]
                           : slice_dim(token_type_embeddings.table(), 0, 0, 1);  // [1,C]
  const Tensor sum = word_embeddings(sequence.tokens) + types + positions;
  return to_compute_dtype(dropout(norm(sum)));
}

BertEncoder::Output::Output(Module& parent, std::int64_t in, const BertConfig& config)
    : Module(parent, "output"),
      dense(*this, "dense", in, config.hidden_size, linear_options(config)),
      norm(*this, "LayerNorm", config.hidden_size, config.layer_norm_eps),
      dropout(*this, "dropout", config.hidden_dropout_prob) {}

Tensor BertEncoder::Output::operator()(const Tensor& x, const Tensor& residual) const {
  return norm(dropout(dense(x)) + residual);
}

BertEncoder::Attention::Attention(Module& parent, const BertConfig& config)
    : Module(parent, "attention"),
      self(*this, "self", config.hidden_size,
           {.heads = config.num_attention_heads,
            .dropout = config.attention_probs_dropout_prob,
            .linear = linear_options(config)}),
      output(*this, config.hidden_size, config) {}

Tensor BertEncoder::Attention::operator()(const Tensor& x, const SequenceLayout& layout) const {
  return output(self(x, layout), x);
}

BertEncoder::Intermediate::Intermediate(Module& parent, const BertConfig& config)
    : Module(parent, "intermediate"),
      activation(activation_of(config.hidden_act)),
      dense(*this, "dense", config.hidden_size, config.intermediate_size, linear_options(config)) {}

Tensor BertEncoder::Intermediate::operator()(const Tensor& x) const {
  return activate(dense(x), activation);
}

BertEncoder::Layer::Layer(Module& parent, std::string_view name, const BertConfig& config)
    : Module(parent, name),
      attention(*this, config),
      intermediate(*this, config),
      output(*this, config.intermediate_size, config) {}

Tensor BertEncoder::Layer::operator()(const Tensor& x, const SequenceLayout& layout) const {
  const Tensor attended = attention(x, layout);
  return output(intermediate(attended), attended);
}

BertEncoder::Encoder::Encoder(Module& parent, const BertConfig& config)
    : Module(parent, "encoder"), layer(*this, "layer") {
  for (std::int64_t i = 0; i < config.num_hidden_layers; ++i) layer.add(config);
}

BertEncoder::BertEncoder(Module& parent, const BertConfig& config, const DataFacts& data)
    : Module(parent, "bert"),
      gradient_checkpointing_(config.gradient_checkpointing),
      embeddings_(*this, config, data),
      encoder_(*this, config) {}

Tensor BertEncoder::operator()(const TokenInputs& sequence) const {
  Tensor x = embeddings_(sequence);
  for (const Layer& layer : encoder_.layer) {
    const auto run = [&](const Tensor& y) { return layer(y, sequence.layout); };
    x = gradient_checkpointing_ ? remat(run, x) : run(x);
  }
  return x;
}

Bert::Transform::Transform(Module& parent, const Config& config)
    : Module(parent, "transform"),
      activation(activation_of(config.hidden_act)),
      dense(*this, "dense", config.hidden_size, config.hidden_size, linear_options(config)),
      norm(*this, "LayerNorm", config.hidden_size, config.layer_norm_eps) {}

Tensor Bert::Transform::operator()(const Tensor& x) const {
  return norm(activate(dense(x), activation));
}

Bert::Predictions::Predictions(Module& parent, const Config& config, std::int64_t vocab_size)
    : Module(parent, "predictions"),
      bias(
          parameter("bias", Shape{vocab_size}, ParameterKind::kVector, Initializer::constant(0.0))),
      transform(*this, config) {}

Bert::Head::Head(Module& parent, const Config& config, std::int64_t vocab_size)
    : Module(parent, "cls"), predictions(*this, config, vocab_size) {}

Bert::Bert(const Config& config, const DataFacts& data)
    : bert_(*this, config, data), cls_(*this, config, vocabulary_size(config.vocab_size, data)) {}

Tensor Bert::scores(const Tensor& hidden) const {
  const Predictions& head = cls_.predictions;
  const Tensor x = head.transform(hidden);
  const ModuleScope scope = head.enter(x);
  return bert_.attend_tokens(x, head.bias.get());
}

Loss Bert::operator()(const Batch& batch) const {
  return chosen_token_loss(scores(bert_(TokenInputs::of(batch))), batch);
}

Tensor Bert::logits_in_place(const Batch& batch) const {
  const Tensor x = bert_(TokenInputs::of(batch));  // [B,T,C]
  const std::int64_t samples = x.size(0), time = x.size(1);
  const Tensor first =
      iota(x.context(), Shape{samples}, 0, DType::kI32) * static_cast<double>(time);
  const Tensor rows = reshape(x, Shape{samples * time, x.size(2)});
  return scores(gather(rows, first + batch["position"], 0));
}

BertClassifier::Body::Pooler::Pooler(Module& parent, const Config& config)
    : Module(parent, "pooler"),
      dense(*this, "dense", config.hidden_size, config.hidden_size, linear_options(config)) {}

BertClassifier::Body::Body(Module& parent, const Config& config, const DataFacts& data)
    : BertEncoder(parent, config, data), pooler(*this, config) {}

Tensor BertClassifier::Body::pooled(const TokenInputs& sequence) const {
  const Tensor x = (*this)(sequence);
  const Tensor first = reshape(slice_dim(x, 1, 0, 1), Shape{x.size(0), x.size(2)});
  return tanh(pooler.dense(first));
}

BertClassifier::BertClassifier(const Config& config, const DataFacts& data)
    : bert_(*this, config, data),
      dropout_(*this, "dropout", config.classifier_dropout),
      classifier_(*this, "classifier", config.hidden_size, number_of_labels(config),
                  linear_options(config)) {}

Loss BertClassifier::operator()(const Batch& batch) const {
  const Tensor logits = classifier_(dropout_(bert_.pooled(TokenInputs::of(batch))));
  return classification_loss(logits, batch);
}

}  // namespace lockstep
