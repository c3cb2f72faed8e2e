// The settings of the classifiers of small images (trainer/models/vision/vision.h).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trainer/settings/key.h"
#include "trainer/task/data_needs.h"

namespace lockstep {

struct MlpConfig {
  std::vector<std::int64_t> hidden_sizes = {512, 512};
  std::int64_t input_size = 784;
  std::int64_t n_classes = 10;

  static std::vector<Key> keys();
  DataNeeds needs() const;
  static std::vector<std::pair<std::string, MlpConfig>> sizes();
};

struct LenetConfig {
  std::int64_t n_classes = 10;

  static std::vector<Key> keys();
  DataNeeds needs() const;
  static std::vector<std::pair<std::string, LenetConfig>> sizes();
};

}  // namespace lockstep
