#include "trainer/calibrate/limits_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/duration.h"
#include "core/base/metrics.h"

namespace lockstep {
namespace {

constexpr int kFirst = 30;  ///< columns of a row's name
constexpr int kWidth = 16;

const char* mark(double spread) {
  constexpr double kSteady = 1.1;
  return spread > kSteady ? "~" : "";
}

/// "2 threads", "2 ranks x 1 thread"
std::string to_text(BusyCores cores) {
  const std::string threads =
      fmt::format("{} thread{}", cores.threads, cores.threads == 1 ? "" : "s");
  return cores.ranks == 1 ? threads : fmt::format("{} x {}", cores.ranks, threads);
}

std::string to_text(const WorkFactor& row) {
  std::string out = fmt::format("{:.2f}", row.factor);
  if (row.byte_seconds > 0) out += fmt::format(" + {:.0f} ps/byte", 1e12 * row.byte_seconds);
  if (row.bundle_seconds > 0) out += fmt::format(" + {} each", readable_time(row.bundle_seconds));
  return out;
}

std::string line(const std::string& name, const std::vector<std::string>& cells,
                 int width = kWidth) {
  std::string out = fmt::format("  {:<{}}", name, kFirst);
  for (const std::string& cell : cells) out += fmt::format("{:>{}}", cell, width);
  return out + "\n";
}

std::string dots(const MachineLimits& limits) {
  std::vector<BusyCores> uses;
  for (const DotRate& row : limits.dots)
    if (std::find(uses.begin(), uses.end(), row.cores) == uses.end()) uses.push_back(row.cores);
  std::vector<std::string> cells;
  cells.reserve(uses.size());
  for (const BusyCores use : uses) cells.push_back(to_text(use));
  std::string out = "dots, GFLOP/s of one rank\n" + line("", cells);
  std::vector<std::string> shown;
  for (const DotRate& row : limits.dots) {
    const std::string name = fmt::format("{:<6} {:<4} [{},{}]x[{},{}]", row.size,
                                         name_of(row.dtype), row.m, row.k, row.k, row.n);
    if (std::find(shown.begin(), shown.end(), name) != shown.end()) continue;
    shown.push_back(name);
    cells.clear();
    for (const BusyCores use : uses)
      for (const DotRate& other : limits.dots)
        if (other.size == row.size && other.dtype == row.dtype && other.cores == use)
          cells.push_back(fmt::format("{}{:.0f}", mark(other.spread), other.flops_per_s * 1e-9));
    out += line(name, cells);
  }
  return out;
}

std::string memory(const MachineLimits& limits) {
  std::string out = "memory, GB/s of all threads" + std::string(kFirst - 10, ' ') +
                    fmt::format("{:>11}{:>{}}\n", "copy", "triad", kWidth);
  for (const MemoryRate& row : limits.memory)
    out += line(fmt::format("{}, {} each", to_text({row.threads, 1}),
                            format_bytes(static_cast<double>(row.working_set))),
                {fmt::format("{}{:.1f}", mark(row.spread), row.copy_bytes_per_s * 1e-9),
                 fmt::format("{}{:.1f}", mark(row.spread), row.triad_bytes_per_s * 1e-9)});
  return out;
}

std::string all_reduce(const MachineLimits& limits) {
  if (limits.all_reduce.empty()) return "all-reduce: not measured\n";
  std::string out = "all-reduce of f32\n";
  for (const AllReduceTime& row : limits.all_reduce)
    out += line(fmt::format("{} ranks{}, {}", row.ranks,
                            row.nodes == 1 ? "" : fmt::format(" on {} nodes", row.nodes),
                            format_bytes(static_cast<double>(row.bytes))),
                {readable_time(row.seconds),
                 fmt::format("{:.2f} GB/s", static_cast<double>(row.bytes) / row.seconds * 1e-9)});
  return out;
}

std::string steps(const StepRates& rates) {
  if (!rates.measured()) return "training steps: not measured\n";
  std::vector<std::pair<DType, BusyCores>> uses;
  std::vector<std::string> cells, shown;
  for (const WorkFactor& row : rates.work)
    if (std::ranges::find(uses, std::pair(row.math, row.cores)) == uses.end()) {
      uses.emplace_back(row.math, row.cores);
      cells.push_back(fmt::format("{} {}", name_of(row.math), to_text(row.cores)));
    }
  constexpr int kWide = kWidth + 4;
  std::string out = "training steps, times over their lower bounds\n" + line("", cells, kWide);
  for (const WorkFactor& row : rates.work) {
    if (std::ranges::find(shown, row.work) != shown.end()) continue;
    shown.push_back(row.work);
    cells.clear();
    for (const auto& [math, cores] : uses) {
      const auto found = std::ranges::find_if(rates.work, [&](const WorkFactor& other) {
        return other.work == row.work && other.math == math && other.cores == cores;
      });
      cells.push_back(found == rates.work.end() ? "-" : to_text(*found));
    }
    out += line(row.work, cells, kWide);
  }
  for (const StepOverhead& row : rates.overheads)
    out += line(to_text(row.cores), {fmt::format("{} a node", readable_ns(1e9 * row.node_seconds)),
                                     fmt::format("{:.1f} % waits", 100 * row.waits)});
  return out + fmt::format("  steps of one model predicted by the others: off by {:.1f} %\n",
                           100 * rates.deviation);
}

}  // namespace

std::string to_table(const MachineLimits& limits) {
  std::string out = fmt::format("{}\n{}\n", limits.machine.to_string(), limits.origin());
  if (!limits.dots.empty()) out += dots(limits);
  if (!limits.memory.empty()) out += memory(limits);
  out += all_reduce(limits);
  out += steps(limits.steps);
  if (limits.bundle_ns > 0)
    out +=
        fmt::format("a bundle {}, a clock reading {}, an event {}\n", readable_ns(limits.bundle_ns),
                    readable_ns(limits.clock_ns), readable_ns(limits.event_ns));
  if (!limits.fast_dtypes.empty()) {
    out += "dots are fast in";
    for (const DType dtype : limits.fast_dtypes) out += fmt::format(" {}", name_of(dtype));
    out += "\n";
  }
  return out;
}

}  // namespace lockstep
