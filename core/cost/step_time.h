// The cost model: how long a training step takes on devices of a profile.
// docs/design/cost_model.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cost/bucket_work.h"
#include "core/cost/cost_constants.h"
#include "core/cost/device_profile.h"
#include "core/cost/kernel_work.h"
#include "core/virtual_time/step_durations.h"

namespace lockstep {

/// How the state of a run is divided over its devices.
enum class Parallelism : std::uint8_t {
  kReplicated,  ///< "dp": every device has all of it; gradients are all-reduced
  kZero1,       ///< "zero1": optimizer state is divided
  kFsdp,  ///< "fsdp": all is divided over all devices, weights are gathered when they are used
  kHsdp,  ///< "hsdp": as fsdp within a node, as dp between nodes
};
inline constexpr std::size_t kParallelisms = 4;
std::string_view name_of(Parallelism parallelism);
std::optional<Parallelism> parse_parallelism(std::string_view name);

/// What the backward pass computes again in place of keeping it.
enum class Rematerialization : std::uint8_t { kNone, kSelective, kFull };

/// What one device does in a step.
struct StepWork {
  std::vector<KernelWork> heavy;         ///< of one micro-batch, as what follows
  Traffic fused;                         ///< what is left of all else if it is fused
  Traffic calls;                         ///< all else, call by call
  std::vector<BucketWork> buckets = {};  ///< of the gradients
  double micro_batches = 1;
  double parameters = 0;  ///< elements, of the whole model
  double slots = 0;       ///< of the optimizer, for each parameter
};

/// The devices of a run and the software on them.
struct Deployment {
  int devices = 1;
  int nodes = 1;
  MathType math = MathType::kFp32;
  Execution execution = Execution::kCompiled;
  Parallelism parallelism = Parallelism::kReplicated;
  Rematerialization rematerialization = Rematerialization::kNone;
  bool fused_attention = true;  ///< false: scores are written to memory
  bool channels_first = false;  ///< images on tensor units are [N,C,H,W]
  double gradient_bytes = 4;    ///< of an element on the wire
  bool overlap = true;          ///< false: gradients are sent after the last micro-batch
  /// Bytes a second of a node to others, each direction, if not that of the profile.
  std::optional<double> node_network = std::nullopt;
};

/// Some names of parts.
inline constexpr std::string_view kElementwisePart = "elementwise";
inline constexpr std::string_view kGapsPart = "gaps between kernels";
inline constexpr std::string_view kDispatchPart = "dispatch";
inline constexpr std::string_view kOptimizerPart = "optimizer";

/// A part of a step's time.
struct TimePart {
  std::string_view name;
  double seconds = 0;
  /// Of it, what figures of the data sheet alone give: work at the peak of units, memory or links.
  double data_sheet = 0;
  /// Of it, what rests on figures that the profile marks as estimates. The rest is fitted.
  double assumed = 0;
  double fitted() const { return seconds - data_sheet - assumed; }
};

struct StepTime {
  double seconds = 0;  ///< a steady step by the event rule (core/virtual_time) and `durations`
  StepDurations durations = {};
  std::vector<TimePart> parts;    ///< they sum to it
  double all_reduce_seconds = 0;  ///< of all communication, hidden or not
  double exposed_seconds = 0;     ///< of it, what the step waits for
  double flops = 0;               ///< of dots, convolutions and attention, of one device
  /// Of the peak; 0 if there is none.
  double utilization = 0;

  /// The part of that name, which must be one of the parts.
  const TimePart& part(std::string_view name) const;
};

/// Error kUsage if the profile lacks a figure that the deployment needs, naming it: the peak of the
/// math type, links for more than one device.
StepTime step_time(const StepWork& work, const DeviceProfile& device, const Deployment& deployment,
                   const CostConstants& constants);

/// The same step if it takes `factor` times as long, in all its parts but `durations`. What they
/// owe to the data sheet and to estimates stays, up to all of a part.
StepTime scaled(const StepTime& time, double factor);

}  // namespace lockstep
