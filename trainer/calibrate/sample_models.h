// The models whose training steps `lockstep calibrate` times. They are not those of the benchmarks:
// products, convolutions, attention and all else in sizes between theirs.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace lockstep {

struct SampleModel {
  std::string_view name;
  std::string_view config;  ///< YAML
  std::int64_t steps = 0;   ///< as many as take about a second
};
std::span<const SampleModel> sample_models();

}  // namespace lockstep
