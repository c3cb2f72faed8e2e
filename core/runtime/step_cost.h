// The time of a training step on a machine: the plans of its two programs bundle by bundle, the
// sums of gradients, and the all-reduce of their buckets during the last micro-batch.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/ir/machine_limits.h"
#include "core/runtime/compiled_step.h"
#include "core/runtime/plan_cost.h"
#include "core/virtual_time/step_durations.h"

namespace lockstep {

/// A link between nodes: each sends and receives at once.
struct NodeLink {
  double bytes_per_s = 0;  ///< of a node, each direction
  double latency_s = 0;    ///< of a message
};

/// How a machine runs the steps of a job.
struct StepPlacement {
  BusyCores cores;  ///< of each node
  int nodes = 1;
  NodeLink link = {};  ///< not read for one node
  DType math = DType::kF32;
  std::int64_t micro_batches = 1;  ///< of a rank
  bool overlap = true;             ///< buckets are sent while the last micro-batch is computed
};

/// Seconds of one rank. By class, bundles of all micro-batches and of the update.
struct StepCost {
  CostByClass bounds{};                        ///< from the limits alone
  std::array<double, kWorkClassCount> work{};  ///< expected in a step
  double sums = 0;                             ///< gradients of a rank's micro-batches are added
  double all_reduce = 0;                       ///< of all buckets, hidden or not
  double exposed = 0;                          ///< of it, what the update program waits for
  double overhead = 0;  ///< the host records the next step, and hands it over
  double waits = 0;     ///< for other ranks, whose commands take longer now and then
  double flops = 0;     ///< of dots, convolutions and attention
  StepDurations durations;

  double commands() const;
  /// Of a steady step by the event rule.
  double seconds = 0;
};

/// Seconds to expect of work of one class in a step, for its lower bound.
double expected(const WorkFactor& factor, const WorkCost& bound);

/// What to expect of a bundle, by the factor that `limits` has of its class.
/// `limits` must outlive the result.
BundleSeconds expected_of_bundles(const MachineLimits& limits, const StepPlacement& placement);

/// Seconds in which a link carries so many bytes, without latency; its frames have headers, too.
double link_seconds(const NodeLink& link, double payload);

/// Bytes that a node sends of each byte that is all-reduced, if its ranks' micro-batches are one
/// subtree of the sum: see "Collectives" in ARCHITECTURE.md.
double sent_share(int nodes);

/// What to expect of a step: lower bounds times the factors that `limits` has of training steps. On
/// one node the ranks add the buckets themselves, after the last micro-batch; between nodes a
/// bucket is sent as the event rule says (core/virtual_time).
StepCost step_cost(const CompiledStep& step, const MachineLimits& limits,
                   const StepPlacement& placement);

}  // namespace lockstep
