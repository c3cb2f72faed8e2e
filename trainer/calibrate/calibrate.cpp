#include "trainer/calibrate/calibrate.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <ctime>
#include <set>
#include <utility>

#include "core/base/build_id.h"
#include "core/base/clock.h"
#include "trainer/calibrate/bandwidth.h"
#include "trainer/calibrate/linear_dots.h"
#include "trainer/calibrate/small_costs.h"
#include "trainer/machine/limits_file.h"

namespace lockstep {
namespace {

constexpr int kRounds = 3;
constexpr double kMaxSeconds = 80;
/// Time of each measurement in a round.
constexpr double kSeconds = 0.06;
constexpr double kQuickSeconds = 0.005;

/// How much faster dots of a dtype with its own units are than f32 dots.
constexpr double kFast = 1.2;

/// The linear layers of the benchmark models: mlp, gpt_micro, gpt_baby, and one of few features.
struct Size {
  const char* name;
  std::int64_t m, n, k;
};
constexpr Size kSizes[] = {{"small", 64, 512, 512},
                           {"medium", 768, 512, 128},
                           {"large", 2048, 1536, 384},
                           {"tall", 16384, 64, 64}};

/// Numbers of threads: 1, 2, 4 and all.
std::set<int> numbers_of_threads(int cores) {
  std::set<int> out{1, std::min(2, cores), std::min(4, cores), cores};
  return out;
}

/// One rank alone, and as many ranks as fit on the cores.
std::vector<BusyCores> uses_of(int cores) {
  std::vector<BusyCores> out;
  for (const int threads : numbers_of_threads(cores)) {
    out.push_back({threads, 1});
    if (cores / threads > 1) out.push_back({threads, cores / threads});
  }
  return out;
}

std::vector<DotRate> dots_to_measure(int cores) {
  std::vector<DotRate> out;
  for (const Size& size : kSizes)
    for (const DType dtype : {DType::kF32, DType::kBF16})
      for (const BusyCores use : uses_of(cores))
        out.push_back({size.name, dtype, size.m, size.n, size.k, use});
  return out;
}

/// Working sets in the first-level cache, in the second, in the shared one, and in memory.
std::vector<MemoryRate> memory_to_measure(int cores) {
  std::vector<MemoryRate> out;
  for (const int threads : numbers_of_threads(cores))
    for (const std::int64_t bytes : {std::int64_t{24} << 10, std::int64_t{512} << 10,
                                     std::int64_t{8} << 20, set_beyond_caches(threads)})
      out.push_back({bytes, threads});
  return out;
}

/// The figures of one row over the rounds.
class Rounds {
 public:
  void add(double rate) {
    best_ = std::max(best_, rate);
    worst_ = worst_ == 0 ? rate : std::min(worst_, rate);
  }
  double best() const { return best_; }
  double spread() const { return best_ / worst_; }

 private:
  double best_ = 0;
  double worst_ = 0;
};

class Measurement {
 public:
  explicit Measurement(const CalibrateOptions& options)
      : options_(options),
        seconds_(options.quick ? kQuickSeconds : kSeconds),
        dots_(dots_to_measure(options.cores)),
        memory_(memory_to_measure(options.cores)),
        flops_(dots_.size()),
        copy_(memory_.size()),
        triad_(memory_.size()) {}

  void round() {
    for (std::size_t i = 0; i < dots_.size(); ++i) {
      DotRate row = dots_[i];
      measure_dot(row, options_.target, seconds_);
      flops_[i].add(row.flops_per_s);
      options_.activity.progress();
    }
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      const MemoryRate row =
          measure_bandwidth(options_.target, memory_[i].threads, memory_[i].working_set, seconds_);
      copy_[i].add(row.copy_bytes_per_s);
      triad_[i].add(row.triad_bytes_per_s);
      options_.activity.progress();
    }
    const SmallCosts costs = measure_small_costs(options_.target, seconds_);
    bundle_.add(1 / costs.bundle_ns);
    clock_.add(1 / costs.clock_ns);
    event_.add(1 / costs.event_ns);
  }

  MachineLimits result() const {
    MachineLimits out;
    out.dots = dots_;
    for (std::size_t i = 0; i < dots_.size(); ++i) {
      out.dots[i].flops_per_s = flops_[i].best();
      out.dots[i].spread = flops_[i].spread();
    }
    out.memory = memory_;
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      out.memory[i].copy_bytes_per_s = copy_[i].best();
      out.memory[i].triad_bytes_per_s = triad_[i].best();
      out.memory[i].spread = std::max(copy_[i].spread(), triad_[i].spread());
    }
    out.bundle_ns = 1 / bundle_.best();
    out.clock_ns = 1 / clock_.best();
    out.event_ns = 1 / event_.best();
    out.fast_dtypes = {DType::kF32};
    const BusyCores one{1, 1};
    if (peak_flops_per_s(out, DType::kBF16, one) > kFast * peak_flops_per_s(out, DType::kF32, one))
      out.fast_dtypes.push_back(DType::kBF16);
    return out;
  }

 private:
  const CalibrateOptions& options_;
  double seconds_;
  std::vector<DotRate> dots_;
  std::vector<MemoryRate> memory_;
  std::vector<Rounds> flops_, copy_, triad_;
  Rounds bundle_, clock_, event_;
};

}  // namespace

Calibration calibration_now(bool quick) {
  return {.measured = true,
          .quick = quick,
          .date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))),
          .build = build_id().hex(),
          .seconds = 1};
}

MachineLimits measure_machine(const CalibrateOptions& options) {
  const SteadyClock clock;
  const std::int64_t begin_ns = clock.now_ns();
  const auto seconds = [&] { return seconds_since(clock, begin_ns); };
  Measurement measurement(options);
  const int rounds = options.quick ? 1 : kRounds;
  for (int done = 0; done < rounds; ++done) {
    const bool too_late = done > 0 && seconds() * (done + 1) / done > kMaxSeconds;
    if (too_late) break;
    measurement.round();
  }
  MachineLimits out = measurement.result();
  out.machine = this_machine(options.target);
  out.calibration = calibration_now(options.quick);
  out.calibration.seconds = seconds();
  return out;
}

}  // namespace lockstep
