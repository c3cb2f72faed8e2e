// The fields of a sample of tokens.
#pragma once

#include <string>
#include <vector>

#include "data/samples/dataset.h"

namespace lockstep {

inline std::vector<std::int32_t> field(const Sample& sample, const std::string& name) {
  const auto values = sample.at(name).as<const std::int32_t>();
  return {values.begin(), values.end()};
}

}  // namespace lockstep
