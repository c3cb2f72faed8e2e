// The settings of GPT-2 (trainer/models/gpt2.h).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trainer/config/checks.h"
#include "trainer/config/key.h"
#include "trainer/data_needs.h"
#include "trainer/hub/hub_format.h"

namespace lockstep {

struct Gpt2Config {
  std::int64_t n_layer = 12;
  std::int64_t n_head = 12;
  std::int64_t n_embd = 768;
  std::int64_t block_size = 1024;  ///< positions; the longest sequence the model takes
  std::int64_t vocab_size = 0;     ///< 0: the tokenizer's
  double dropout = 0.0;
  bool gradient_checkpointing = false;  ///< keep the blocks' boundaries only (core/trace/remat.h)

  static std::vector<Key> keys();
  DataNeeds needs() const;
  void check(const Config& run, const ReportProblem& report) const;
  static std::vector<std::pair<std::string, Gpt2Config>> sizes();
  static HubFormat hub();
};

}  // namespace lockstep
