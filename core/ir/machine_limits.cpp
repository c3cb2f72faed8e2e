#include "core/ir/machine_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>
#include <utility>

#include "core/base/error.h"

namespace lockstep {
namespace {

constexpr double kGiga = 1e9;

/// How far apart two sizes are: 0 if equal, 1 for each factor of two, in either direction.
double distance(double a, double b) {
  return std::abs(std::log2(std::max(a, 1.0) / std::max(b, 1.0)));
}

double distance(BusyCores a, BusyCores b) {
  return 8 * distance(a.threads, b.threads) + distance(a.ranks, b.ranks);
}

/// A curve through measured points, linear in logarithms and constant beyond its ends.
double interpolate(std::vector<std::pair<double, double>> points, double x) {
  std::sort(points.begin(), points.end());
  const auto above = std::find_if(points.begin(), points.end(),
                                  [&](const auto& point) { return point.first >= x; });
  if (above == points.begin()) return points.front().second;
  if (above == points.end()) return points.back().second;
  const auto& [x0, y0] = *(above - 1);
  const auto& [x1, y1] = *above;
  const double part = std::log(x / x0) / std::log(x1 / x0);
  return y0 * std::pow(y1 / y0, part);
}

/// The rows of the dtype for the most similar use of the cores.
std::vector<DotRate> dots_of(const MachineLimits& limits, DType dtype, BusyCores cores) {
  const auto has = [&](const DotRate& row) { return row.dtype == dtype; };
  const bool known = std::any_of(limits.dots.begin(), limits.dots.end(), has);
  std::vector<DotRate> out;
  for (const DotRate& row : limits.dots) {
    if (row.dtype != (known ? dtype : DType::kF32)) continue;
    if (!out.empty() && distance(row.cores, cores) > distance(out[0].cores, cores)) continue;
    if (!out.empty() && distance(row.cores, cores) < distance(out[0].cores, cores)) out.clear();
    out.push_back(row);
  }
  LS_CHECK(!out.empty(), "the machine's limits have no f32 dots");
  return out;
}

/// The FLOP/s of one rank with `threads`, according to the row.
double flops_per_s(const DotRate& row, int threads) {
  return row.flops_per_s / row.cores.threads * threads;
}

const char* name_of(Isa isa) {
  switch (isa) {
    case Isa::kAvx2: return "AVX2";
    case Isa::kAvx512: return "AVX-512";
  }
  __builtin_unreachable();
}

const char* name_of(Bf16Units units) {
  switch (units) {
    case Bf16Units::kNone: return "";
    case Bf16Units::kVectors: return " with bf16";
    case Bf16Units::kTiles: return " with AMX";
  }
  __builtin_unreachable();
}

/// The assumed ratio of the speeds of bf16 and f32 dots.
double assumed_gain(Bf16Units units) {
  switch (units) {
    case Bf16Units::kNone: return 1;
    case Bf16Units::kVectors: return 2;
    case Bf16Units::kTiles: return 5;
  }
  __builtin_unreachable();
}

}  // namespace

bool MachineKind::is_like(const MachineKind& other) const {
  return std::tie(cpu_model, cores, isa, bf16) ==
         std::tie(other.cpu_model, other.cores, other.isa, other.bf16);
}

std::string MachineKind::to_string() const {
  return fmt::format("{}, {} core{}, {}{}", cpu_name, cores, cores == 1 ? "" : "s", name_of(isa),
                     name_of(bf16));
}

double DotRate::flops() const {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

double DotRate::bytes() const {
  return static_cast<double>(m * k + k * n + m * n) * static_cast<double>(size_of(dtype));
}

std::string MachineLimits::origin() const {
  if (!calibration.measured) return "not calibrated: default";
  return fmt::format("calibrated {}{}", calibration.date, calibration.quick ? " (quick)" : "");
}

MachineLimits default_limits(const MachineKind& machine) {
  MachineLimits out;
  out.machine = machine;
  const double f32 = machine.isa == Isa::kAvx512 ? 150 * kGiga : 75 * kGiga;
  const auto dot = [&](DType dtype, double rate) {
    out.dots.push_back({"medium", dtype, 768, 512, 128, {1, 1}, rate, 1});
  };
  dot(DType::kF32, f32);
  dot(DType::kBF16, f32 * assumed_gain(machine.bf16));
  constexpr double kInCache = 80 * kGiga;
  constexpr double kBeyond = 12 * kGiga;
  out.memory = {{1 << 20, 1, kInCache, kInCache, 1}, {1 << 26, 1, kBeyond, kBeyond, 1}};
  constexpr double kLatency = 20e-6;
  constexpr double kSum = 4 * kGiga;
  for (const std::int64_t bytes : {1 << 12, 1 << 16, 1 << 20, 1 << 25})
    out.all_reduce.push_back({2, 1, bytes, kLatency + static_cast<double>(bytes) / kSum, 1});
  out.bundle_ns = 1000;
  out.clock_ns = 50;
  out.event_ns = 300;
  out.fast_dtypes = {DType::kF32};
  if (machine.bf16 != Bf16Units::kNone) out.fast_dtypes.push_back(DType::kBF16);
  return out;
}

double peak_flops_per_s(const MachineLimits& limits, DType dtype, BusyCores cores) {
  double out = 0;
  for (const DotRate& row : dots_of(limits, dtype, cores))
    out = std::max(out, flops_per_s(row, cores.threads));
  return out;
}

double dot_flops_per_s(const MachineLimits& limits, const Work& dot, BusyCores cores) {
  const std::vector<DotRate> rows = dots_of(limits, dot.dtype, cores);
  const auto from = [&](const DotRate& row) {
    return std::hypot(distance(row.flops(), dot.flops), distance(row.bytes(), dot.bytes));
  };
  const auto nearest = std::min_element(
      rows.begin(), rows.end(), [&](const auto& a, const auto& b) { return from(a) < from(b); });
  return flops_per_s(*nearest, cores.threads);
}

double bytes_per_s(const MachineLimits& limits, const Work& work, BusyCores cores) {
  LS_CHECK(!limits.memory.empty(), "the machine's limits have no memory bandwidth");
  const int busy = cores.threads * cores.ranks;
  int nearest = limits.memory[0].threads;
  for (const MemoryRate& row : limits.memory)
    if (distance(row.threads, busy) < distance(nearest, busy)) nearest = row.threads;
  std::vector<std::pair<double, double>> points;
  for (const MemoryRate& row : limits.memory) {
    if (row.threads != nearest) continue;
    const double rate = work.kind == WorkKind::kCopy ? row.copy_bytes_per_s : row.triad_bytes_per_s;
    points.emplace_back(static_cast<double>(row.working_set), rate / nearest * cores.threads);
  }
  return interpolate(std::move(points), work.bytes / cores.threads);
}

double all_reduce_seconds(const MachineLimits& limits, double bytes, int ranks) {
  if (ranks <= 1 || limits.all_reduce.empty()) return 0;
  const auto from = [&](const AllReduceTime& row) {
    return distance(row.ranks, ranks) + distance(row.nodes, 1);
  };
  double min = from(limits.all_reduce[0]);
  for (const AllReduceTime& row : limits.all_reduce) min = std::min(min, from(row));
  std::vector<std::pair<double, double>> points;
  for (const AllReduceTime& row : limits.all_reduce)
    if (from(row) == min) points.emplace_back(static_cast<double>(row.bytes), row.seconds);
  const auto largest = *std::max_element(points.begin(), points.end());
  return interpolate(std::move(points), bytes) * std::max(1.0, bytes / largest.first);
}

double exchange_seconds(const MachineLimits& limits, double bytes) {
  const AllReduceTime* largest = nullptr;
  for (const AllReduceTime& row : limits.all_reduce)
    if (row.nodes > 1 && (largest == nullptr || row.bytes > largest->bytes)) largest = &row;
  return largest == nullptr ? 0 : bytes * largest->seconds / static_cast<double>(largest->bytes);
}

double lower_bound_seconds(const MachineLimits& limits, const Work& work, BusyCores cores) {
  if (work.kind == WorkKind::kAllReduce) return all_reduce_seconds(limits, work.bytes, cores.ranks);
  const double rate = work.kind == WorkKind::kDot ? dot_flops_per_s(limits, work, cores)
                                                  : peak_flops_per_s(limits, DType::kF32, cores);
  return std::max(
      {limits.bundle_ns * 1e-9, work.flops / rate, work.bytes / bytes_per_s(limits, work, cores)});
}

WorkFactor work_factor(const StepRates& rates, std::string_view work, DType math, BusyCores cores) {
  const auto from = [&](const WorkFactor& row) {
    constexpr double kOtherMath = 1000;  // farther than any use of the cores
    return distance(row.cores, cores) + (row.math == math ? 0 : kOtherMath);
  };
  const WorkFactor* nearest = nullptr;
  for (const WorkFactor& row : rates.work)
    if (row.work == work && (nearest == nullptr || from(row) < from(*nearest))) nearest = &row;
  return nearest == nullptr ? WorkFactor{std::string(work), math, cores} : *nearest;
}

StepOverhead step_overhead(const StepRates& rates, BusyCores cores) {
  const auto nearest = std::ranges::min_element(
      rates.overheads, {}, [&](const StepOverhead& row) { return distance(row.cores, cores); });
  return nearest == rates.overheads.end() ? StepOverhead{cores} : *nearest;
}

}  // namespace lockstep
