#include "core/cost/cost_constants.h"

#include <fmt/format.h>

#include "core/base/error.h"

namespace lockstep {
namespace {

/// Calls `f` with the name, the spread and a reference to each constant.
template <class Constants, class F>
void for_each(Constants& c, const F& f) {
  f("tensor_fraction", 0.3, c.tensor_fraction);
  f("vector_fraction", 0.2, c.vector_fraction);
  f("tf32_fraction", 0.3, c.tf32_fraction);
  f("convolution_tensor", 0.4, c.convolution_tensor);
  f("convolution_vector", 0.4, c.convolution_vector);
  f("matmul_power", 0.5, c.matmul_power);
  f("product_depth", 0.7, c.product_depth);
  f("convolution_depth", 0.7, c.convolution_depth);
  f("wave_weight", 0.7, c.wave_weight);
  f("product_memory", 0.15, c.product_memory);
  f("stream_memory", 0.3, c.stream_memory);
  f("roof_sharpness", 0.5, c.roof_sharpness);
  f("flash_fraction", 0.4, c.flash_fraction);
  f("flash_gradient", 0.3, c.flash_gradient);
  f("score_passes", 0.6, c.score_passes);
  for (std::size_t i = 0; i < kExecutions; ++i)
    f(fmt::format("unfused.{}", name_of(static_cast<Execution>(i))), 0.7, c.unfused[i]);
  for (std::size_t i = 0; i < kExecutions; ++i)
    f(fmt::format("product.{}", name_of(static_cast<Execution>(i))), 0.12, c.product[i]);
  f("score_least", 0.4, c.score_least);
  f("score_products", 0.3, c.score_products);
  f("dispatch", 0.5, c.dispatch);
  f("eager_dispatch", 0.3, c.eager_dispatch);
  f("kernel_gap_us", 0.7, c.kernel_gap_us);
  for (std::size_t i = 0; i < kExecutions; ++i)
    f(fmt::format("optimizer.{}", name_of(static_cast<Execution>(i))), 0.6, c.optimizer[i]);
  f("selective_share", 0.5, c.selective_share);
  f("channels_first", 0.7, c.channels_first);
  f("bus_fraction", 0.3, c.bus_fraction);
  f("link_fraction", 0.2, c.link_fraction);
  f("network_fraction", 0.4, c.network_fraction);
  f("both_levels", 0.6, c.both_levels);
  f("latency", 0.8, c.latency);
  f("overlap", 0.5, c.overlap);
  f("last_bucket", 0.6, c.last_bucket);
  f("shard_overlap", 0.3, c.shard_overlap);
  f("shard_exposed", 0.8, c.shard_exposed);
  f("straggler", 0.7, c.straggler);
}

}  // namespace

std::vector<CostConstantRow> cost_constant_rows() {
  std::vector<CostConstantRow> out;
  const CostConstants priors;
  for_each(priors, [&](const std::string& name, double spread, double value) {
    out.push_back({name, value, spread});
  });
  return out;
}

std::vector<double> values_of(const CostConstants& constants) {
  std::vector<double> out;
  for_each(constants, [&](const auto&, double, double value) { out.push_back(value); });
  return out;
}

CostConstants constants_from(std::span<const double> values) {
  CostConstants out;
  const std::size_t count = values_of(out).size();
  LS_USER_CHECK(values.size() == count, "{} constants are given, and there are {}", values.size(),
                count);
  std::size_t i = 0;
  for_each(out, [&](const auto&, double, double& value) { value = values[i++]; });
  return out;
}

}  // namespace lockstep
