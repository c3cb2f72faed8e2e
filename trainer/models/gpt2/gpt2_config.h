// The settings of GPT-2 (trainer/models/gpt2/gpt2.h).
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

/// The keys are those of Hugging Face's GPT2Config.
struct Gpt2Config {
  std::int64_t n_layer = 12;
  std::int64_t n_head = 12;
  std::int64_t n_embd = 768;
  std::int64_t n_positions = 1024;  ///< the maximum sequence length
  std::int64_t vocab_size = 0;      ///< 0: the tokenizer's
  std::int64_t n_inner = 0;         ///< 0: 4 n_embd
  HiddenAct activation_function = HiddenAct::kGeluNew;
  double embd_pdrop = 0.0;
  double attn_pdrop = 0.0;
  double resid_pdrop = 0.0;
  double layer_norm_epsilon = 1e-5;
  double initializer_range = 0.02;
  bool gradient_checkpointing = false;  ///< keep only the blocks' inputs (core/trace/remat.h)

  std::int64_t inner_width() const { return n_inner > 0 ? n_inner : 4 * n_embd; }

  static std::vector<Key> keys();
  DataNeeds needs() const;
  void check(const Config& run, const ReportProblem& report) const {
    check_sizes("model", run, report);
  }
  /// The rules of the sizes; `section` has the keys: "model".
  void check_sizes(std::string_view section, const Config& run, const ReportProblem& report) const;
  static std::vector<std::pair<std::string, Gpt2Config>> sizes();
  static HubFormat hub();
};

}  // namespace lockstep
