#include "core/cost/step_time.h"

#include <algorithm>
#include <cmath>

#include "core/cost/collective_time.h"
#include "core/cost/product_time.h"

namespace lockstep {
namespace {

constexpr double kForwardShare = 1.0 / 3;  ///< of a micro-batch's time; full recomputation adds it
constexpr double kSelectiveShare = 0.05;   ///< that of recomputed attention and norms
constexpr double kBackwardShare = 2.0 / 3;
constexpr double kDispatchSharpness = 6;  ///< of the maximum of device and host
constexpr double kBucketBytes = 25e6;
constexpr double kFewestBuckets = 4;
constexpr double kLeastExposed = 0.05;   ///< of an all-reduce: the last bucket's
constexpr double kEagerOptimizer = 1.5;  ///< an optimizer of several kernels against one

double count_of(const std::vector<KernelWork>& work) {
  double out = 0;
  for (const KernelWork& each : work) out += static_cast<double>(each.count);
  return out;
}

/// a - b where that is positive, without a corner.
double softly_above(double a, double b) {
  return 0.5 * (a - b + std::sqrt((a - b) * (a - b) + 0.01 * b * b));
}

double launch_us(const DeviceProfile& device, Execution execution) {
  switch (execution) {
    case Execution::kEager:
      return 2 * device.launch_us_eager.value;  // its part in Python and autograd
    case Execution::kXla: return device.launch_us_xla.value;
    case Execution::kCompiled:
    case Execution::kHandFused:
    case Execution::kStaticGraph: return device.launch_us_graph.value;
  }
  __builtin_unreachable();
}

bool is_sharded(Parallelism parallelism) {
  return parallelism == Parallelism::kFsdp || parallelism == Parallelism::kHsdp;
}

struct StepModel {
  const StepWork& work;
  const DeviceProfile& device;
  const Deployment& deployment;
  const CostConstants& constants;
  DeviceRates rates{device, deployment, constants};
  double unfused = constants.unfused[static_cast<std::size_t>(deployment.execution)];

  TimePart part(std::string_view name, KernelTime time, double times = 1) const {
    return {name, time.seconds * times, std::min(time.data_sheet, time.seconds) * times, 0};
  }

  std::vector<TimePart> kernels() const {
    KernelTime dots, convolutions, attention;
    for (const KernelWork& each : work.heavy) {
      const bool attends = each.kind == KernelKind::kAttention;
      const KernelTime time = attends ? rates.attention(each) : rates.product(each);
      KernelTime& to = attends                                 ? attention
                       : each.kind == KernelKind::kConvolution ? convolutions
                                                               : dots;
      to.seconds += time.seconds;
      to.data_sheet += time.data_sheet;
    }
    const double between = std::max(work.calls.bytes - work.fused.bytes, 0.0);
    const KernelTime stream = rates.streaming(work.fused.bytes + unfused * between);
    const double again =
        1 + (deployment.recomputation == Recomputation::kFull        ? kForwardShare
             : deployment.recomputation == Recomputation::kSelective ? kSelectiveShare
                                                                     : 0);
    const double times = work.micro_batches * again;
    TimePart gaps{"gaps between kernels", launches() * constants.kernel_gap_us * 1e-6 * times, 0,
                  0};
    return {part("dots", dots, times), part("convolutions", convolutions, times),
            part("attention", attention, times), part("elementwise", stream, times), gaps};
  }

  double launches() const {
    return count_of(work.heavy) + work.fused.kernels +
           unfused * std::max(work.calls.kernels - work.fused.kernels, 0.0);
  }

  /// What the host needs to start the kernels, beyond what the device needs to run them.
  TimePart dispatch(double device_seconds) const {
    const double host = launches() * launch_us(device, deployment.execution) * 1e-6 *
                        constants.dispatch * work.micro_batches;
    const double p = kDispatchSharpness;
    const double both =
        std::pow(std::pow(device_seconds, p) + std::pow(host, p), 1 / p) - device_seconds;
    return {"dispatch", both, 0, both};
  }

  TimePart optimizer() const {
    const double shards =
        deployment.parallelism == Parallelism::kReplicated ? 1 : deployment.devices;
    const double once = work.parameters / shards * 4 * (3 + 2 * work.slots);
    const double passes = constants.optimizer_passes *
                          (deployment.execution == Execution::kEager ? kEagerOptimizer : 1);
    KernelTime time = rates.streaming(once * passes);
    time.data_sheet /= passes;
    return part("optimizer", time);
  }
};

}  // namespace

std::string_view name_of(Parallelism parallelism) {
  switch (parallelism) {
    case Parallelism::kReplicated: return "dp";
    case Parallelism::kZero1: return "zero1";
    case Parallelism::kFsdp: return "fsdp";
    case Parallelism::kHsdp: return "hsdp";
  }
  __builtin_unreachable();
}

std::optional<Parallelism> parse_parallelism(std::string_view name) {
  for (const Parallelism each :
       {Parallelism::kReplicated, Parallelism::kZero1, Parallelism::kFsdp, Parallelism::kHsdp})
    if (name_of(each) == name) return each;
  return std::nullopt;
}

StepTime step_time(const StepWork& work, const DeviceProfile& device, const Deployment& deployment,
                   const CostConstants& constants) {
  const StepModel model{work, device, deployment, constants};
  StepTime out;
  out.parts = model.kernels();
  double compute = 0;
  for (const TimePart& part : out.parts) compute += part.seconds;
  out.parts.push_back(model.dispatch(compute));
  compute += out.parts.back().seconds;
  out.parts.push_back(model.optimizer());
  const double update = out.parts.back().seconds;

  const double gradients = work.parameters * deployment.gradient_bytes;
  const double buckets = std::max(gradients / kBucketBytes, kFewestBuckets);
  KernelTime sent;
  double exposed = 0;
  if (deployment.devices > 1 && is_sharded(deployment.parallelism)) {
    // Weights are gathered for the forward and the backward pass, gradients are reduce-scattered:
    // one and a half all-reduces of 16 bits.
    constexpr double kAllReduces = 1.5, kHides = 0.8;
    sent = all_reduce_time(work.parameters * 2, std::max(buckets, 20.0), device, deployment,
                           constants);
    sent.seconds *= kAllReduces * work.micro_batches;
    sent.data_sheet *= kAllReduces * work.micro_batches;
    exposed = constants.shard_exposed * sent.seconds + softly_above(sent.seconds, kHides * compute);
  } else if (deployment.devices > 1) {
    sent = all_reduce_time(gradients, buckets, device, deployment, constants);
    const double hides = constants.overlap * kBackwardShare * compute / work.micro_batches;
    exposed = softly_above(sent.seconds, hides) + kLeastExposed * sent.seconds;
  }
  exposed = std::min(exposed, sent.seconds);
  out.all_reduce_seconds = sent.seconds;
  out.exposed_seconds = exposed;
  const double share = sent.seconds > 0 ? exposed / sent.seconds : 0;
  out.parts.push_back({"exposed communication", exposed, share * sent.data_sheet, 0});
  const double alone = compute + update + exposed;
  const double wait =
      alone * constants.straggler * std::log2(static_cast<double>(deployment.devices));
  out.parts.push_back({"waits for the slowest", wait, 0, 0});
  out.seconds = alone + wait;
  for (const KernelWork& each : work.heavy)
    out.flops += each.flops * static_cast<double>(each.count) * work.micro_batches;
  out.utilization = out.flops / out.seconds / *device.peak(deployment.math);
  return out;
}

}  // namespace lockstep
