#include "core/cost/step_time.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/cost/collective_time.h"
#include "core/cost/product_time.h"
#include "core/virtual_time/event_rule.h"

namespace lockstep {
namespace {

constexpr double kForwardShare = 1.0 / 3;  ///< of a micro-batch's time; full recomputation adds it
constexpr double kBackwardShare = 2.0 / 3;
constexpr double kFp32Bytes = 4;
constexpr double kDispatchSharpness = 6;  ///< of the maximum of device and host
constexpr double kMessageBytes = 25e6;
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

/// All communication of a step. Of that of divided weights, also what the step waits for: no
/// event rule says it.
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

  static constexpr std::size_t kHeavyParts = 3;  ///< of kernels(): those of `work.heavy`

  std::vector<TimePart> kernels() const {
    KernelTime dots, convolutions, attention;
    for (const KernelWork& each : work.heavy) {
      KernelTime& to = each.kind == KernelKind::kAttention     ? attention
                       : each.kind == KernelKind::kConvolution ? convolutions
                                                               : dots;
      to = to + rates.heavy(each);
    }
    const double between = std::max(work.calls.bytes - work.fused.bytes, 0.0);
    const KernelTime stream = rates.streaming(work.fused.bytes + unfused * between);
    const double again =
        1 + (deployment.rematerialization == Rematerialization::kFull ? kForwardShare
             : deployment.rematerialization == Rematerialization::kSelective
                 ? constants.selective_share
                 : 0);
    const double times = work.micro_batches * again;
    TimePart gaps{kGapsPart, launches() * constants.kernel_gap_us * 1e-6 * times, 0, 0};
    return {part("dots", times * dots), part("convolutions", times * convolutions),
            part("attention", times * attention), part(kElementwisePart, times * stream), gaps};
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
    return {kDispatchPart, both, 0, both};
  }

  TimePart optimizer() const {
    const double once = work.parameters / optimizer_shards() * 4 * (3 + 2 * work.slots);
    KernelTime time = rates.streaming(once);
    time.seconds *= constants.optimizer[static_cast<std::size_t>(deployment.execution)];
    return part(kOptimizerPart, time);
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

  double wire_bytes(const BucketWork& bucket) const {
    return bucket.bytes * deployment.gradient_bytes / kFp32Bytes;
  }

  bool divides_weights() const {
    return deployment.parallelism == Parallelism::kFsdp ||
           deployment.parallelism == Parallelism::kHsdp;
  }

  /// Buckets are all-reduced during the backward pass of the last micro-batch, which takes `heavy`
  /// seconds for products and attention and `other` seconds for all else.
  Exchange exchange_gradients(double heavy, double other, StepDurations& to) const {
    Exchange out;
    double all = 0;
    for (const BucketWork& bucket : work.buckets) all += wire_bytes(bucket);
    const double messages = std::max(all / kMessageBytes, kFewestBuckets);
    for (const BucketWork& bucket : work.buckets) {
      const double bytes = wire_bytes(bucket);
      const CollectiveTime sent =
          all_reduce_time(bytes, messages * bytes / all, device, deployment, constants);
      to.buckets.push_back({.ready_ns = deployment.overlap ? to_ns(bucket.heavy_share * heavy +
                                                                   bucket.traffic_share * other)
                                                           : to.micro_batch_ns,
                            .all_reduce_ns = to_ns(sent.time.seconds),
                            .within_ns = to_ns(sent.within),
                            .between_ns = to_ns(sent.between),
                            .bytes = std::llround(bytes)});
      out.sent = out.sent + sent.time;
    }
    constexpr double kMillion = 1e6;
    to.both_levels_ppm = std::llround(kMillion * constants.both_levels);
    return out;
  }

  /// What a step loses to its all-reduces in all: the buckets tell how much of it is waiting. The
  /// rest is what all-reduces beside kernels cost these.
  double lost_to_gradients(double sent, double compute) const {
    const double hides = constants.overlap * kBackwardShare * compute / work.micro_batches;
    return std::min(softly_above(sent, hides) + constants.last_bucket * sent, sent);
  }

  /// Weights are gathered for the forward and the backward pass of every micro-batch, gradients are
  /// reduce-scattered: one and a half all-reduces of 16 bits, or of fp32. With kHsdp within nodes,
  /// and the shards' gradients are then all-reduced between nodes.
  Exchange exchange_shards(double compute) const {
    if (deployment.devices <= 1) return {};
    constexpr double kAllReduces = 1.5, kFewestMessages = 20, kLeastBytes = 2;
    const double bytes = work.parameters * std::max(stored_bytes(deployment.math), kLeastBytes);
    const double messages = std::max(bytes / kMessageBytes, kFewestMessages);
    const bool hybrid = deployment.parallelism == Parallelism::kHsdp && deployment.nodes > 1;
    Deployment within = deployment;
    if (hybrid) {
      within.devices = deployment.devices / deployment.nodes;
      within.nodes = 1;
    }
    KernelTime sent = kAllReduces * work.micro_batches *
                      all_reduce_time(bytes, messages, device, within, constants).time;
    if (hybrid) {
      const double on_node = within.devices;
      Deployment between = deployment;
      between.devices = deployment.nodes;
      if (between.node_network) *between.node_network /= on_node;
      sent = sent + all_reduce_time(bytes / on_node, messages, device, between, constants).time;
    }
    return {sent, constants.shard_exposed * sent.seconds +
                      softly_above(sent.seconds, constants.shard_overlap * compute)};
  }
};

/// With which a steady step loses so much to its all-reduces, if waiting does not cost more.
std::int64_t interference_ppm(const StepDurations& step, std::int64_t lost_ns) {
  constexpr std::int64_t kMillion = 1'000'000;
  const StepTimes without = steady_step(step, 1);
  const std::int64_t rest = lost_ns - without.exposed_ns();
  return rest <= 0 || without.hidden_ns == 0 ? 0 : rest * kMillion / without.hidden_ns;
}

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
  const std::int64_t micro_batches = std::max<std::int64_t>(std::llround(work.micro_batches), 1);
  StepTime out;
  out.parts = model.kernels();
  double compute = 0, heavy = 0;
  for (const TimePart& part : out.parts) compute += part.seconds;
  for (std::size_t i = 0; i < StepModel::kHeavyParts; ++i) heavy += out.parts[i].seconds;
  out.parts.push_back(model.dispatch(compute));
  compute += out.parts.back().seconds;
  out.parts.push_back(model.optimizer());
  const double update = out.parts.back().seconds;

  StepDurations& durations = out.durations;
  const auto times = static_cast<double>(micro_batches);
  durations.micro_batch_ns = to_ns(compute / times);
  Exchange exchange;
  if (model.divides_weights()) {
    exchange = model.exchange_shards(compute);
    exchange.exposed = std::min(exchange.exposed, exchange.sent.seconds);
  } else {
    exchange = model.exchange_gradients(heavy / times, (compute - heavy) / times, durations);
    durations.interference_ppm =
        interference_ppm(durations, to_ns(model.lost_to_gradients(exchange.sent.seconds, compute)));
  }
  durations.update_ns = to_ns(update + exchange.exposed);
  const StepTimes alone = steady_step(durations, micro_batches);
  durations.waits_ns = std::llround(static_cast<double>(alone.end_ns) * constants.straggler *
                                    std::log2(static_cast<double>(deployment.devices)));
  for (const KernelWork& each : work.heavy)
    out.flops += each.flops * static_cast<double>(each.count) * work.micro_batches;
  durations.flops = out.flops;

  const KernelTime& sent = exchange.sent;
  out.all_reduce_seconds = sent.seconds;
  out.exposed_seconds = seconds_of(alone.exposed_ns()) + exchange.exposed;
  const double share = sent.seconds > 0 ? out.exposed_seconds / sent.seconds : 0;
  out.parts.push_back(StepModel::part("exposed communication", share * sent));
  out.parts.push_back({"waits for the slowest", seconds_of(durations.waits_ns), 0, 0});
  out.seconds = seconds_of(alone.end_ns + durations.waits_ns);
  if (const auto peak = device.peak(deployment.math))
    out.utilization = out.flops / out.seconds / *peak;
  return out;
}

const TimePart& StepTime::part(std::string_view name) const {
  const auto found = std::ranges::find(parts, name, &TimePart::name);
  LS_CHECK(found != parts.end(), "a step has no part '{}'", name);
  return *found;
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
