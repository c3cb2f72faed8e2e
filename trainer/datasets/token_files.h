// Datasets of tokens in files: plain text, and token shards that were prepared earlier.
#pragma once

#include <string_view>
#include <vector>

#include "trainer/settings/config.h"
#include "trainer/settings/key.h"
#include "trainer/settings/report_problem.h"
#include "trainer/task/data_source.h"

namespace lockstep {

struct TextData {
  static constexpr std::string_view kName = "text";
  static constexpr std::string_view kDoc = "plain text";
  static constexpr std::string_view kGives = "tokens masked_tokens";

  std::vector<std::string> path = {};  ///< files read one after the other
  std::vector<std::string> val_path = {};
  double val_fraction = 0.1;  ///< the last part of `path` to validate on when val_path is empty
  std::int64_t stride = 0;    ///< tokens between sample starts; 0: the sequence length

  static std::vector<Key> keys();
  void check(const Config& run, const ReportProblem& report) const;
  DataSource open(const OpenContext& context) const;
};

/// data/tokens/token_shards.h has the format. The members are those of TextData.
struct TokensData {
  static constexpr std::string_view kName = "tokens";
  static constexpr std::string_view kDoc = "token shards, .bin";
  static constexpr std::string_view kGives = "tokens masked_tokens";
  static constexpr bool kBringsTokenizer = true;

  std::vector<std::string> path = {};
  std::vector<std::string> val_path = {};
  double val_fraction = 0.1;
  std::int64_t stride = 0;

  static std::vector<Key> keys();
  void check(const Config& run, const ReportProblem& report) const;
  DataSource open(const OpenContext& context) const;
};

}  // namespace lockstep
