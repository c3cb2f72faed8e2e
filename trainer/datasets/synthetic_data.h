// Random samples, generated on request: tokens or images, as the model requires.
#pragma once

#include <string_view>
#include <vector>

#include "trainer/settings/key.h"
#include "trainer/task/data_source.h"

namespace lockstep {

struct SyntheticData {
  static constexpr std::string_view kName = "synthetic";
  static constexpr std::string_view kDoc = "random samples made on the fly";
  static constexpr std::string_view kGives = "tokens masked_tokens labelled_tokens images";

  std::int64_t num_samples = 1024;

  static std::vector<Key> keys();
  DataSource open(const OpenContext& context) const;
};

}  // namespace lockstep
