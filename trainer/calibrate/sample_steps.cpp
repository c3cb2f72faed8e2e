#include "trainer/calibrate/sample_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "trainer/apps/run_planner.h"
#include "trainer/calibrate/sample_models.h"
#include "trainer/calibrate/step_rates.h"
#include "trainer/config/batch_plan.h"
#include "trainer/config/load.h"
#include "trainer/statistics/rank_profile.h"

namespace lockstep {
namespace {

/// Limit of a job; on two cores it takes two to six.
constexpr double kMaxJobSeconds = 120;
constexpr std::int64_t kQuickSteps = 3;  ///< the first one is not measured

/// Rounds over the samples. A sample is left out of later ones when its two quickest rounds agree:
/// load that comes and goes would else make the machine seem slower than it is.
constexpr int kMinRounds = 2;
constexpr int kMaxRounds = 6;
constexpr double kAgreement = 1.03;

struct SampleRun {
  const SampleModel& model;
  Precision precision = Precision::kFp32;
  int ranks = 1;
  std::vector<double> seconds = {};  ///< of a step, of each round, ascending
  MeasuredStep quickest = {};

  bool settled() const {
    return seconds.size() >= kMinRounds && seconds[1] <= kAgreement * seconds[0];
  }
  void add(MeasuredStep step) {
    seconds.insert(std::ranges::upper_bound(seconds, step.seconds), step.seconds);
    if (seconds[0] == step.seconds) quickest = std::move(step);
  }
};

std::vector<SampleRun> samples_of(const std::vector<int>& ranks, bool quick) {
  std::vector<int> numbers{1};
  if (!quick) numbers.insert(numbers.end(), ranks.begin(), ranks.end());
  std::vector<SampleRun> out;
  for (const SampleModel& model : sample_models())
    for (const int number : numbers)
      for (const Precision precision : {Precision::kFp32, Precision::kBf16Mixed})
        if (!quick || precision == Precision::kFp32) out.push_back({model, precision, number});
  return out;
}

class SampleJobs {
 public:
  SampleJobs(bool quick, const Registry& registry, MaxIsa max)
      : quick_(quick), registry_(registry), max_(max) {}

  JobEnd measure(SampleRun& sample) {
    const std::vector<std::string> overrides = overrides_of(sample);
    const std::string file = folder_.path() + "/sample.yaml";
    write_file(file, std::string(sample.model.config), ErrorKind::kUsage);
    std::vector<std::string> command{"train", file};
    command.insert(command.end(), overrides.begin(), overrides.end());
    JobEnd end = run_job(sample.ranks, std::move(command), kMaxJobSeconds);
    if (!end.well()) return end;
    const Config config = load_config(file, registry_, overrides).config;
    const PlannedRun run = plan_config(config, registry_, max_);
    const StepPlacement placement{
        .cores = {.threads = 1, .ranks = sample.ranks},
        .math = config.training.precision == Precision::kFp32 ? DType::kF32 : DType::kBF16,
        .micro_batches = plan_batch(config.batch, sample.ranks).micro_batches_per_rank};
    sample.add(measured_step(read_profiles(folder_.path() + "/run"), std::string(sample.model.name),
                             run.step, placement));
    return {};
  }

 private:
  std::vector<std::string> overrides_of(const SampleRun& sample) const {
    const bool fp32 = sample.precision == Precision::kFp32;
    return {"run.dir=" + folder_.path(),
            "run.name=run",
            "device.compile_cache=" + folder_.path() + "/cache",
            "device.threads=1",
            "profile.ledger=true",
            "logging.tensorboard=false",
            "logging.interval=1000000",
            "checkpoint.save_interval=-1",
            fmt::format("training.precision={}", fp32 ? "fp32" : "bf16-mixed"),
            fmt::format("training.max_steps={}", quick_ ? kQuickSteps : sample.model.steps)};
  }

  bool quick_;
  const Registry& registry_;
  MaxIsa max_;
  JobFolder folder_;
};

}  // namespace

JobEnd measure_steps(const std::vector<int>& ranks, bool quick, const Registry& registry,
                     MaxIsa max, Activity activity, MachineLimits& limits) {
  SampleJobs jobs(quick, registry, max);
  std::vector<SampleRun> samples = samples_of(ranks, quick);
  for (int round = 0; round < (quick ? 1 : kMaxRounds); ++round)
    for (SampleRun& sample : samples) {
      if (sample.settled()) continue;
      JobEnd end;
      try {
        end = jobs.measure(sample);
      } catch (const Error& e) {
        end.problem = e.what();
      }
      if (!end.problem.empty())
        end.problem =
            fmt::format("{} on {} ranks: {}", sample.model.name, sample.ranks, end.problem);
      if (!end.well()) return end;
      activity.progress();
    }
  std::vector<MeasuredStep> steps;
  steps.reserve(samples.size());
  for (SampleRun& sample : samples) steps.push_back(std::move(sample.quickest));
  limits.steps = fit_step_rates(steps, limits);
  return {};
}

}  // namespace lockstep
