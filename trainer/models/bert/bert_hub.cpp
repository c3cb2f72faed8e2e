// BERT on the hub: BertForMaskedLM and BertForSequenceClassification.
#include "trainer/models/bert/bert_config.h"

namespace lockstep {
namespace {

/// The common part of both.
HubFormat bert_format() {
  return {.model_type = "bert",
          .architectures = {},
          // TensorFlow's names of the parameters of norms; then the names of a BertModel without a
          // head.
          .read = {{"*.LayerNorm.gamma", "*.LayerNorm.weight"},
                   {"*.LayerNorm.beta", "*.LayerNorm.bias"},
                   {"embeddings.*", "bert.embeddings.*"},
                   {"encoder.*", "bert.encoder.*"},
                   {"pooler.*", "bert.pooler.*"}},
          .ignored = {"bert.embeddings.position_ids", "bert.embeddings.token_type_ids"},
          .token_embedding = "bert.embeddings.word_embeddings.weight",
          .token_rows = {"cls.predictions.bias"},
          .text_positions = {"bert.embeddings.position_embeddings.weight"},
          .fixed = {{"add_cross_attention", "false"},
                    {"is_decoder", "false"},
                    {"position_embedding_type", "\"absolute\""}},
          .defaults = {{"vocab_size", "30522"}},
          .written = {{"pad_token_id", "0"},
                      {"position_embedding_type", "\"absolute\""},
                      {"use_cache", "true"}},
          .own_keys = {"gradient_checkpointing"}};
}

void classifier_from_hub(HubValues& values) {
  const auto dropout = values.find("classifier_dropout");
  if (dropout != values.end() && dropout->second != "null") return;
  const auto hidden = values.find("hidden_dropout_prob");
  if (hidden != values.end()) values["classifier_dropout"] = hidden->second;
}

}  // namespace

HubFormat BertConfig::hub() {
  HubFormat out = bert_format();
  out.architectures = {"BertForMaskedLM", "BertForPreTraining"};
  // Tensors for the sentence pairs of BERT's training are also ignored.
  for (const char* name : {"bert.pooler.*", "cls.seq_relationship.*"}) out.ignored.push_back(name);
  out.tied = {{"cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight"},
              {"cls.predictions.decoder.bias", "cls.predictions.bias"}};
  out.fixed["tie_word_embeddings"] = "true";
  out.written["classifier_dropout"] = "null";
  return out;
}

HubFormat BertClassifierConfig::hub() {
  HubFormat out = bert_format();
  out.architectures = {"BertForSequenceClassification"};
  out.fixed["problem_type"] = "\"single_label_classification\"";
  out.from_hub = classifier_from_hub;
  return out;
}

}  // namespace lockstep
