// The settings of ViT (trainer/models/vit/vit.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer/hub/hub_format.h"
#include "trainer/models/parts/hidden_act.h"
#include "trainer/settings/config.h"
#include "trainer/settings/key.h"
#include "trainer/settings/report_problem.h"
#include "trainer/task/data_needs.h"

namespace lockstep {

/// The keys, and their defaults, are those of Hugging Face's ViTConfig.
struct VitConfig {
  std::int64_t hidden_size = 768;
  std::int64_t num_hidden_layers = 12;
  std::int64_t num_attention_heads = 12;
  std::int64_t intermediate_size = 3072;
  std::int64_t image_size = 224;
  std::int64_t patch_size = 16;
  std::int64_t num_channels = 3;
  std::int64_t num_labels = 2;
  HiddenAct hidden_act = HiddenAct::kGelu;
  double hidden_dropout_prob = 0.0;
  double attention_probs_dropout_prob = 0.0;
  double layer_norm_eps = 1e-12;
  double initializer_range = 0.02;
  bool qkv_bias = true;
  bool gradient_checkpointing = false;

  static std::vector<Key> keys();
  DataNeeds needs() const;
  void check(const Config&, const ReportProblem& report) const { check_sizes("model", report); }
  /// The rules of the sizes; `section` has the keys: "model".
  void check_sizes(std::string_view section, const ReportProblem& report) const;
  static std::vector<std::pair<std::string, VitConfig>> sizes();
  static HubFormat hub();
};

}  // namespace lockstep
