// The settings of BERT (trainer/models/bert/bert.h).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trainer/hub/hub_format.h"
#include "trainer/models/parts/hidden_act.h"
#include "trainer/settings/config.h"
#include "trainer/settings/key.h"
#include "trainer/settings/report_problem.h"
#include "trainer/task/data_needs.h"

namespace lockstep {

/// The keys, and their defaults, are those of Hugging Face's BertConfig.
struct BertConfig {
  std::int64_t vocab_size = 0;  ///< 0: the tokenizer's
  std::int64_t hidden_size = 768;
  std::int64_t num_hidden_layers = 12;
  std::int64_t num_attention_heads = 12;
  std::int64_t intermediate_size = 3072;
  std::int64_t max_position_embeddings = 512;
  std::int64_t type_vocab_size = 2;
  HiddenAct hidden_act = HiddenAct::kGelu;
  double hidden_dropout_prob = 0.1;
  double attention_probs_dropout_prob = 0.1;
  double layer_norm_eps = 1e-12;
  double initializer_range = 0.02;
  bool gradient_checkpointing = false;
  std::int64_t num_labels = 0;      ///< of the classifier; 0: those of the data
  double classifier_dropout = 0.1;  ///< of the classifier

  static std::vector<Key> keys();
  DataNeeds needs() const;
  void check(const Config& run, const ReportProblem& report) const;
  static std::vector<std::pair<std::string, BertConfig>> sizes();
  static HubFormat hub();
};

/// With the keys of BertForSequenceClassification.
struct BertClassifierConfig : BertConfig {
  static std::vector<Key> keys();
  DataNeeds needs() const;
  static std::vector<std::pair<std::string, BertClassifierConfig>> sizes();
  static HubFormat hub();
};

}  // namespace lockstep
