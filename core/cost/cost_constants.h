// The constants of the cost model that no data sheet states. bench/foresight/fit.py fits them to
// published step times; none is set by hand, and none belongs to one model, device or source.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "core/cost/device_profile.h"
#include "core/cost/residual_spread.h"

namespace lockstep {

struct CostConstants {
  double tensor_fraction = 0.9;     ///< of the peak that long products reach, on tensor units
  double vector_fraction = 0.9;     ///< the same on ordinary units
  double tf32_fraction = 0.9;       ///< further, of tf32
  double convolution_tensor = 0.8;  ///< further, of convolutions on tensor units
  double convolution_vector = 1;    ///< further, of convolutions on ordinary units; fast algorithms
                                    ///< for 3 x 3 windows count as more than 1
  double matmul_power = 1;          ///< of the profile's matmul_fraction: how much a board's limit
                                    ///< of power or clock tells in a whole step
  double product_depth = 64;        ///< the k at which a product reaches half of that
  double convolution_depth = 64;    ///< the same of convolutions
  double wave_weight = 0.5;         ///< how much a last wave of few tiles costs, 0 to 1
  double product_memory = 0.85;     ///< of the memory bandwidth that operands are read with
  double stream_memory = 0.75;      ///< the same by elementwise kernels
  double roof_sharpness = 4;        ///< how abruptly arithmetic gives way to memory
  double flash_fraction = 0.45;     ///< of the peak that fused attention reaches
  double flash_gradient = 0.8;      ///< further, its gradient
  double score_passes = 12;         ///< how often scores are read or written if they are in memory,
                                    ///< by attention and its gradient
  /// The share of the traffic between the calls of a step that is left.
  std::array<double, kExecutions> unfused{1, 0.2, 0.2, 0.5, 0.5};
  /// A factor on the fraction of the peak that products reach.
  std::array<double, kExecutions> product{1, 1, 1, 1, 1};
  double score_least = 0.3;     ///< the share of these passes that no fusion saves
  double score_products = 0.7;  ///< of a product's fraction, by those of one head at a time
  double dispatch = 1;          ///< of the profile's launch times
  double eager_dispatch = 2;    ///< further, where a framework starts each kernel
  double kernel_gap_us = 1;     ///< on the device, between two kernels
  /// What the optimizer reads and writes, over each value once.
  std::array<double, kExecutions> optimizer{4, 1.5, 1.5, 3, 3};
  double selective_share = 0.05;  ///< of a micro-batch's time that selective recomputation adds
  double channels_first = 1;   ///< a convolution's traffic for layouts of tensor units, by its own
  double bus_fraction = 0.9;   ///< of the node's links that an all-reduce reaches
  double link_fraction = 0.8;  ///< of a link's bandwidth as bus bandwidth that was not measured
  double network_fraction = 0.7;  ///< of the network
  double both_levels = 0.3;    ///< of the quicker of node and network that the other does not hide
  double latency = 1;          ///< of the profile's latencies
  double overlap = 0.6;        ///< of the backward pass that hides an all-reduce
  double last_bucket = 0.05;   ///< of an all-reduce that nothing hides
  double shard_overlap = 0.8;  ///< of a micro-batch's time that hides the traffic of shards
  double shard_exposed = 0.1;  ///< of the traffic of sharded weights that is never hidden
  double straggler = 0.007;    ///< a step's growth each time that devices double

  friend bool operator==(const CostConstants&, const CostConstants&) = default;
};

/// One constant: its name, its value before any row is seen, and how far from it, as a standard
/// deviation of the logarithm, is plausible.
struct CostConstantRow {
  std::string name;
  double prior = 0;
  double spread = 0;
};

/// In a fixed order.
std::vector<CostConstantRow> cost_constant_rows();
/// Their values in that order.
std::vector<double> values_of(const CostConstants& constants);
CostConstants constants_from(std::span<const double> values);

/// What the fit found, with its uncertainty.
struct FittedConstants {
  CostConstants constants;
  /// Covariance of the logarithms of the constants: its lower triangle, row by row.
  std::vector<double> covariance;
  ResidualSpread residual;  ///< beyond that of the constants
};
const FittedConstants& fitted_constants();

}  // namespace lockstep
