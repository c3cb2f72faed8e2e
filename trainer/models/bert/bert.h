// BERT (Devlin et al., arXiv:1810.04805): post-norm transformer encoder with learned positions and
// token types, GELU, and a head that predicts masked tokens or classifies whole sequences.
// Parameter names, layouts and initialization are those of Hugging Face's BertForMaskedLM and
// BertForSequenceClassification.
#pragma once

#include "core/nn/norm.h"
#include "trainer/models/bert/bert_config.h"
#include "trainer/models/parts/self_attention.h"
#include "trainer/models/parts/text_model.h"
#include "trainer/task/model.h"

namespace lockstep {

/// Tokens to hidden states [B,T,C]: "bert" of both models.
class BertEncoder : public Module {
 public:
  BertEncoder(Module& parent, const BertConfig& config, const DataFacts& data);
  Tensor operator()(const TokenInputs& sequence) const;
  /// The output layer that is tied to the token embedding: x [..., C], bias [V] -> [..., V].
  Tensor attend_tokens(const Tensor& x, const Tensor& bias) const {
    return embeddings_.word_embeddings.attend(x, &bias);
  }

 private:
  struct Embeddings : Module {
    Embeddings(Module& parent, const BertConfig& config, const DataFacts& data);
    Tensor operator()(const TokenInputs& sequence) const;

    std::int64_t max_positions;
    std::int64_t token_types;
    Embedding word_embeddings;
    Embedding position_embeddings;
    Embedding token_type_embeddings;
    LayerNorm norm;
    Dropout dropout;
  };
  /// norm(residual + dropout(dense(x))): the end of each half of a layer.
  struct Output : Module {
    Output(Module& parent, std::int64_t in, const BertConfig& config);
    Tensor operator()(const Tensor& x, const Tensor& residual) const;

    Linear dense;
    LayerNorm norm;
    Dropout dropout;
  };
  struct Attention : Module {
    Attention(Module& parent, const BertConfig& config);
    Tensor operator()(const Tensor& x, const SequenceLayout& layout) const;

    SelfAttention self;
    Output output;
  };
  struct Intermediate : Module {
    Intermediate(Module& parent, const BertConfig& config);
    Tensor operator()(const Tensor& x) const;

    Activation activation;
    Linear dense;
  };
  struct Layer : Module {
    Layer(Module& parent, std::string_view name, const BertConfig& config);
    Tensor operator()(const Tensor& x, const SequenceLayout& layout) const;

    Attention attention;
    Intermediate intermediate;
    Output output;
  };
  struct Encoder : Module {
    Encoder(Module& parent, const BertConfig& config);

    ModuleList<Layer> layer;
  };

  bool gradient_checkpointing_;
  Embeddings embeddings_;
  Encoder encoder_;
};

/// Predicts the tokens that were masked.
class Bert final : public Model {
 public:
  static constexpr std::string_view kName = "bert";
  static constexpr std::string_view kDoc = "BERT, an encoder that predicts masked tokens";
  using Config = BertConfig;

  /// Error kUsage if neither config nor data give the size of the vocabulary, or the data's is
  /// larger.
  Bert(const Config& config, const DataFacts& data);
  Loss operator()(const Batch& batch) const override;
  Tensor logits_in_place(const Batch& batch) const override;

 private:
  struct Transform : Module {
    Transform(Module& parent, const Config& config);
    Tensor operator()(const Tensor& x) const;

    Activation activation;
    Linear dense;
    LayerNorm norm;
  };
  struct Predictions : Module {
    Predictions(Module& parent, const Config& config, std::int64_t vocab_size);

    Parameter& bias;
    Transform transform;
  };
  struct Head : Module {
    Head(Module& parent, const Config& config, std::int64_t vocab_size);

    Predictions predictions;
  };

  /// Of hidden states [..., C]: [..., V].
  Tensor scores(const Tensor& hidden) const;

  BertEncoder bert_;
  Head cls_;
};

/// Classifies sequences by their first token.
class BertClassifier final : public Model {
 public:
  static constexpr std::string_view kName = "bert_classifier";
  static constexpr std::string_view kDoc = "BERT, an encoder that classifies texts";
  using Config = BertClassifierConfig;

  BertClassifier(const Config& config, const DataFacts& data);
  Loss operator()(const Batch& batch) const override;

 private:
  /// "bert", with the pooler that only this model has.
  struct Body : BertEncoder {
    Body(Module& parent, const Config& config, const DataFacts& data);
    Tensor pooled(const TokenInputs& sequence) const;  ///< [B,C]

    struct Pooler : Module {
      Pooler(Module& parent, const Config& config);

      Linear dense;
    } pooler;
  };

  Body bert_;
  Dropout dropout_;
  Linear classifier_;
};

}  // namespace lockstep
