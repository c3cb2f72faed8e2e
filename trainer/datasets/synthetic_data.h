// Random samples, generated on request: tokens, images, or both, as the model requires.
#pragma once

#include <string_view>
#include <vector>

#include "data/samples/length_shares.h"
#include "trainer/settings/key.h"
#include "trainer/task/data_source.h"

namespace lockstep {

struct SyntheticData {
  static constexpr std::string_view kName = "synthetic";
  static constexpr std::string_view kDoc = "random samples made on the fly";
  static constexpr std::string_view kGives =
      "tokens masked_tokens labelled_tokens images captioned_images";
  static constexpr bool kVaries = true;
  static constexpr bool kTakesVocabulary = true;

  std::int64_t num_samples = 1024;
  /// Of captions. The default ones are cut to the sequence length; others must not exceed it.
  std::vector<LengthShare> lengths = {{5, 32, 0.9}, {33, 64, 0.09}, {65, 256, 0.01}};

  static std::vector<Key> keys();
  DataSource open(const OpenContext& context) const;
};

}  // namespace lockstep
