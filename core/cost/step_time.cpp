#include "core/cost/step_time.h"

#include <algorithm>
#include <cmath>

#include "core/cost/collective_time.h"
#include "core/cost/product_time.h"

namespace lockstep {
namespace {

constexpr double kForwardShare = 1.0 / 3;  ///< of a micro-batch's time; full recomputation adds it
constexpr double kBackwardShare = 2.0 / 3;
constexpr double kDispatchSharpness = 6;  ///< of the maximum of device and host
constexpr double kBucketBytes = 25e6;
constexpr double kFewestBuckets = 4;

double count_of(const std::vector<KernelWork>& work) {
  double out = 0;
  for (const KernelWork& each : work) out += static_cast<double>(each.count);
  return out;
}

/// a - b where that is positive, without a corner.
double softly_above(double a, double b) {
  return 0.5 * (a - b + std::sqrt((a - b) * (a - b) + 0.01 * b * b));
}

double launch_us(const DeviceProfile& device, Execution execution, const CostConstants& constants) {
  switch (execution) {
    case Execution::kEager: return device.launch_us_eager.value * constants.eager_dispatch;
    case Execution::kXla: return device.launch_us_xla.value;
    case Execution::kCompiled:
    case Execution::kHandFused:
    case Execution::kStaticGraph: return device.launch_us_graph.value;
  }
  __builtin_unreachable();
}

/// All communication of a step, and what of it the step waits for.
struct Exchange {
  KernelTime sent;
  double exposed = 0;
};

struct StepModel {
  const StepWork& work;
  const DeviceProfile& device;
  const Deployment& deployment;
  const CostConstants& constants;
  DeviceRates rates{device, deployment, constants};
  double unfused = constants.unfused[static_cast<std::size_t>(deployment.execution)];

  static TimePart part(std::string_view name, const KernelTime& time) {
    return {name, time.seconds, time.data_sheet, time.assumed};
  }

  std::vector<TimePart> kernels() const {
    KernelTime dots, convolutions, attention;
    for (const KernelWork& each : work.heavy) {
      const bool attends = each.kind == KernelKind::kAttention;
      const KernelTime time = attends ? rates.attention(each) : rates.product(each);
      KernelTime& to = attends                                 ? attention
                       : each.kind == KernelKind::kConvolution ? convolutions
                                                               : dots;
      to = to + time;
    }
    const double between = std::max(work.calls.bytes - work.fused.bytes, 0.0);
    const KernelTime stream = rates.streaming(work.fused.bytes + unfused * between);
    const double again =
        1 + (deployment.rematerialization == Rematerialization::kFull ? kForwardShare
             : deployment.rematerialization == Rematerialization::kSelective
                 ? constants.selective_share
                 : 0);
    const double times = work.micro_batches * again;
    TimePart gaps{"gaps between kernels", launches() * constants.kernel_gap_us * 1e-6 * times, 0,
                  0};
    return {part("dots", times * dots), part("convolutions", times * convolutions),
            part("attention", times * attention), part("elementwise", times * stream), gaps};
  }

  double launches() const {
    return count_of(work.heavy) + work.fused.kernels +
           unfused * std::max(work.calls.kernels - work.fused.kernels, 0.0);
  }

  /// What the host needs to start the kernels, beyond what the device needs to run them.
  TimePart dispatch(double device_seconds) const {
    const double host = launches() * launch_us(device, deployment.execution, constants) * 1e-6 *
                        constants.dispatch * work.micro_batches;
    const double p = kDispatchSharpness;
    const double both =
        std::pow(std::pow(device_seconds, p) + std::pow(host, p), 1 / p) - device_seconds;
    return {"dispatch", both, 0, both};
  }

  TimePart optimizer() const {
    const double once = work.parameters / optimizer_shards() * 4 * (3 + 2 * work.slots);
    KernelTime time = rates.streaming(once);
    time.seconds *= constants.optimizer[static_cast<std::size_t>(deployment.execution)];
    return part("optimizer", time);
  }

  /// Over how many devices the optimizer's work is divided.
  double optimizer_shards() const {
    switch (deployment.parallelism) {
      case Parallelism::kReplicated: return 1;
      case Parallelism::kZero1:
      case Parallelism::kFsdp: return deployment.devices;
      case Parallelism::kHsdp: return static_cast<double>(deployment.devices) / deployment.nodes;
    }
    __builtin_unreachable();
  }

  Exchange exchange(double compute) const {
    if (deployment.devices <= 1) return {};
    return deployment.parallelism == Parallelism::kFsdp ||
                   deployment.parallelism == Parallelism::kHsdp
               ? exchange_shards(compute)
               : exchange_gradients(compute);
  }

  /// Buckets are all-reduced during the backward pass of the last micro-batch.
  Exchange exchange_gradients(double compute) const {
    const double bytes = work.parameters * deployment.gradient_bytes;
    const KernelTime sent = all_reduce_time(bytes, buckets(bytes), device, deployment, constants);
    const double hides = constants.overlap * kBackwardShare * compute / work.micro_batches;
    return {sent, softly_above(sent.seconds, hides) + constants.last_bucket * sent.seconds};
  }

  /// Weights are gathered for the forward and the backward pass of every micro-batch, gradients are
  /// reduce-scattered: one and a half all-reduces of 16 bits, or of fp32. With kHsdp within nodes,
  /// and the shards' gradients are then all-reduced between nodes.
  Exchange exchange_shards(double compute) const {
    constexpr double kAllReduces = 1.5, kFewestMessages = 20, kLeastBytes = 2;
    const double bytes = work.parameters * std::max(stored_bytes(deployment.math), kLeastBytes);
    const double messages = std::max(buckets(bytes), kFewestMessages);
    const bool hybrid = deployment.parallelism == Parallelism::kHsdp && deployment.nodes > 1;
    Deployment within = deployment;
    if (hybrid) {
      within.devices = deployment.devices / deployment.nodes;
      within.nodes = 1;
    }
    KernelTime sent = kAllReduces * work.micro_batches *
                      all_reduce_time(bytes, messages, device, within, constants);
    if (hybrid) {
      const double on_node = within.devices;
      Deployment between = deployment;
      between.devices = deployment.nodes;
      if (between.node_network) *between.node_network /= on_node;
      sent = sent + all_reduce_time(bytes / on_node, messages, device, between, constants);
    }
    return {sent, constants.shard_exposed * sent.seconds +
                      softly_above(sent.seconds, constants.shard_overlap * compute)};
  }

  static double buckets(double bytes) { return std::max(bytes / kBucketBytes, kFewestBuckets); }
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

  const Exchange exchange = model.exchange(compute);
  const KernelTime& sent = exchange.sent;
  const double exposed = std::min(exchange.exposed, sent.seconds);
  out.all_reduce_seconds = sent.seconds;
  out.exposed_seconds = exposed;
  const double share = sent.seconds > 0 ? exposed / sent.seconds : 0;
  out.parts.push_back(StepModel::part("exposed communication", share * sent));
  const double alone = compute + update + exposed;
  const double wait =
      alone * constants.straggler * std::log2(static_cast<double>(deployment.devices));
  out.parts.push_back({"waits for the slowest", wait, 0, 0});
  out.seconds = alone + wait;
  for (const KernelWork& each : work.heavy)
    out.flops += each.flops * static_cast<double>(each.count) * work.micro_batches;
  if (const auto peak = device.peak(deployment.math))
    out.utilization = out.flops / out.seconds / *peak;
  return out;
}

StepTime scaled(const StepTime& time, double factor) {
  StepTime out = time;
  out.seconds *= factor;
  out.all_reduce_seconds *= factor;
  out.exposed_seconds *= factor;
  out.utilization /= factor;
  for (TimePart& part : out.parts) {
    part.seconds *= factor;
    part.data_sheet = std::min(part.data_sheet, part.seconds);
    part.assumed = std::min(part.assumed, part.seconds - part.data_sheet);
  }
  return out;
}

}  // namespace lockstep
