// limits CONFIG [key.path=value ...]: the lower bound of the time of a training step of the config
// on this machine with two busy ranks of one thread, as JSON:
//
//   limit = sum over the step's dots and convolutions of FLOPs / best rate measured for that shape
//         + images' bytes / triad + optimizer bytes / triad + all-reduce bytes / triad
//
// Dots are those of the compiled gradient program. A dot's best rate is the highest of oneDNN's
// (primitive and sgemm), lockstep's product by tiles (both in every layout) and its own kernel, on
// warm caches. Attention counts its dots (half of them if causal), or lockstep's attention kernel
// if that is faster. A convolution's best rate is that of oneDNN's primitive or lockstep's kernel.
// Images' bytes are those that norms and activations between convolutions must move
// (limits/image_traffic.h); none without convolutions. The optimizer reads parameter, gradient and
// slots and writes parameter and slots, f32; the all-reduce moves every gradient once. Triad is
// STREAM's, per rank while both run, beyond the caches: the result of `lockstep calibrate` if there
// is one, otherwise measured now.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "bench/limits/best_rate.h"
#include "bench/limits/image_traffic.h"
#include "bench/target.h"
#include "core/ir/cost.h"
#include "core/runtime/compiled_step.h"
#include "trainer/apps/run_planner.h"
#include "trainer/calibrate/bandwidth.h"
#include "trainer/machine/limits_file.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

constexpr int kRanks = 2;
constexpr double kSecondsEach = 0.02;  ///< a dot on one implementation and layout

/// One line of the result: the program's work of one shape, attention or convolution.
struct DotLimit {
  std::string implementation;
  int count = 0;
  double flops = 0;    ///< of all of them
  double seconds = 0;  ///< of all of them
};
using DotLimits = std::map<std::string, DotLimit>;  ///< by shape

const Timing& measured(std::map<DotShape, Timing>& timings, const DotShape& shape) {
  const auto it = timings.find(shape);
  if (it != timings.end()) return it->second;
  return timings.emplace(shape, best_product(shape, kRanks, kSecondsEach)).first->second;
}

/// Adds the node with its best time: its dots one by one, or lockstep's kernel for the whole node.
void add_node(const DotNode& node, const Timing& own, std::map<DotShape, Timing>& timings,
              DotLimits& limits) {
  std::string shapes;
  std::string implementations;
  double seconds = 0;
  double flops = 0;
  for (const DotShape& shape : node.dots) {
    const Timing& timing = measured(timings, shape);
    seconds += node.share * timing.seconds;
    flops += node.share * shape.flops();
    shapes += (shapes.empty() ? "" : ", ") + shape.to_string();
    implementations += (implementations.empty() ? "" : ", ") + timing.implementation;
  }
  if (node.dots.empty()) {  // a convolution, which was measured as a whole
    seconds = own.seconds;
    shapes = node.convolution;
    implementations = own.implementation;
    flops = cost_of(node.graph).flops;
  }
  DotLimit& limit = limits[shapes];
  limit.implementation = own.seconds < seconds ? own.implementation : implementations;
  limit.count += node.count;
  limit.flops += flops * node.count;
  limit.seconds += std::min(own.seconds, seconds) * node.count;
}

DotLimits measure(const std::vector<DotNode>& nodes) {
  std::map<DotShape, Timing> timings;
  std::vector<Timing> own;
  for (const DotNode& node : nodes) {
    own.push_back(node.convolution.empty() ? own_kernel(node, kRanks, kSecondsEach)
                                           : best_convolution(node, kRanks, kSecondsEach));
    if (node.dots.size() != 1) continue;
    // The compiler chooses the layout of operands: a fast layout for one node is fast for all its
    // shape.
    const Timing known = measured(timings, node.dots[0]);
    if (own.back().seconds < known.seconds) timings[node.dots[0]] = own.back();
  }
  DotLimits limits;
  for (std::size_t i = 0; i < nodes.size(); ++i) add_node(nodes[i], own[i], timings, limits);
  return limits;
}

std::string to_json(const std::string& shape, const DotLimit& dot) {
  return fmt::format(
      R"(  {{"shape": "{}", "count": {}, "gflop": {:.6f}, "ms": {:.6f}, "gflops": {:.2f}, )"
      R"("implementation": "{}"}})",
      shape, dot.count, dot.flops * 1e-9, dot.seconds * 1e3, dot.flops / dot.seconds * 1e-9,
      dot.implementation);
}

struct Triad {
  double bytes_per_s;  ///< of one rank
  std::string origin;
};

Triad find_triad() {
  const FoundLimits found = find_limits(settings_from_environment(), bench_target());
  if (!found.warning.empty()) fmt::print(stderr, "limits: warning: {}\n", found.warning);
  const MachineLimits& limits = found.limits;
  const std::int64_t set = set_beyond_caches(kRanks);
  if (limits.calibration.measured) {
    const Work work{WorkKind::kElementwise, DType::kF32, 0, static_cast<double>(set)};
    return {bytes_per_s(limits, work, {1, kRanks}), limits.origin()};
  }
  constexpr double kSeconds = 0.5;
  const MemoryRate rate = measure_bandwidth(bench_target(), kRanks, set, kSeconds);
  return {rate.triad_bytes_per_s / kRanks, "measured now"};
}

void run(const std::string& path, std::span<const std::string> overrides) {
  const Registry registry = built_in();
  const PlannedRun compiled = plan_config(load_config(path, registry, overrides).config, registry,
                                          settings_from_environment().max_isa);
  std::string dots;
  double dots_ms = 0;
  double gflop = 0;
  for (const auto& [shape, limit] : measure(find_dots(compiled.step->gradient.graph))) {
    dots += (dots.empty() ? "" : ",\n") + to_json(shape, limit);
    dots_ms += limit.seconds * 1e3;
    gflop += limit.flops * 1e-9;
  }
  const auto [triad, triad_origin] = find_triad();
  constexpr double kElement = 4;
  const double all_reduce_bytes = kElement * static_cast<double>(compiled.parameters);
  const double optimizer_bytes = all_reduce_bytes * static_cast<double>(3 + 2 * compiled.slots);
  const double image_bytes = image_traffic(compiled.step->gradient.graph);
  const double image_ms = image_bytes / triad * 1e3;
  const double optimizer_ms = optimizer_bytes / triad * 1e3;
  const double all_reduce_ms = all_reduce_bytes / triad * 1e3;
  fmt::print(
      "{{\"limit_ms\": {:.6f}, \"dots_ms\": {:.6f}, \"gflop\": {:.6f},\n"
      " \"image_bytes\": {:.0f}, \"image_ms\": {:.6f},\n"
      " \"optimizer_bytes\": {:.0f}, \"optimizer_ms\": {:.6f},\n"
      " \"all_reduce_bytes\": {:.0f}, \"all_reduce_ms\": {:.6f}, \"triad_gb_s\": {:.3f},\n"
      " \"triad_from\": \"{}\",\n"
      " \"dots\": [\n{}\n ]}}\n",
      dots_ms + image_ms + optimizer_ms + all_reduce_ms, dots_ms, gflop, image_bytes, image_ms,
      optimizer_bytes, optimizer_ms, all_reduce_bytes, all_reduce_ms, triad * 1e-9, triad_origin,
      dots);
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) {
    fmt::print(stderr, "usage: limits CONFIG [key.path=value ...]\n");
    return 2;
  }
  try {
    (void)lockstep::bench_target();
    lockstep::run(words[0], std::span(words).subspan(1));
  } catch (const std::exception& error) {
    fmt::print(stderr, "limits: {}\n", error.what());
    return 1;
  }
  return 0;
}
