// The settings of Llama (trainer/models/llama/llama.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/nn/positions.h"
#include "trainer/hub/hub_format.h"
#include "trainer/models/parts/hidden_act.h"
#include "trainer/settings/config.h"
#include "trainer/settings/key.h"
#include "trainer/settings/report_problem.h"
#include "trainer/task/data_needs.h"

namespace lockstep {

/// How the frequencies of the rotary embedding are scaled: Hugging Face's rope_type.
enum class RopeType : std::uint8_t { kDefault, kLinear, kLlama3 };
template <>
struct EnumNames<RopeType> {
  static constexpr std::array<std::string_view, 3> kNames{"default", "linear", "llama3"};
};

/// The keys, and their defaults, are those of Hugging Face's LlamaConfig.
struct LlamaConfig {
  std::int64_t vocab_size = 0;  ///< 0: the tokenizer's
  std::int64_t hidden_size = 4096;
  std::int64_t intermediate_size = 11008;
  std::int64_t num_hidden_layers = 32;
  std::int64_t num_attention_heads = 32;
  std::int64_t num_key_value_heads = 0;  ///< 0: num_attention_heads
  std::int64_t head_dim = 0;             ///< 0: hidden_size / num_attention_heads
  std::int64_t max_position_embeddings = 2048;
  HiddenAct hidden_act = HiddenAct::kSilu;
  double rms_norm_eps = 1e-6;
  double rope_theta = 10000.0;
  RopeType rope_type = RopeType::kDefault;  ///< the key rope_scaling.rope_type
  double rope_factor = 1.0;
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  std::int64_t original_max_position_embeddings = 8192;
  bool attention_bias = false;
  bool mlp_bias = false;
  bool tie_word_embeddings = false;
  double attention_dropout = 0.0;
  double initializer_range = 0.02;
  bool gradient_checkpointing = false;

  std::int64_t head_size() const {
    return head_dim > 0 ? head_dim : hidden_size / num_attention_heads;
  }
  Rotary rotary() const;

  static std::vector<Key> keys();
  DataNeeds needs() const;
  void check(const Config& run, const ReportProblem& report) const;
  static std::vector<std::pair<std::string, LlamaConfig>> sizes();
  static HubFormat hub();
};

}  // namespace lockstep
