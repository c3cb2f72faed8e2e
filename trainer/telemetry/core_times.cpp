#include "trainer/telemetry/core_times.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep {
namespace {

constexpr std::int64_t kStepsToJudge = 20;
constexpr double kSecondsToJudge = 2;
constexpr double kBusyEnough = 0.8;

double percent(double part) {
  return 100 * part;
}

/// Short kernels have no tasks for all cores. Ranks need no tasks of a kernel, so they come first.
std::string remedy_of_short_kernels(const CoreLayout& layout) {
  const std::string larger =
      layout.micro_batches > 1
          ? fmt::format("training.micro_batch_size than {}", layout.micro_batch_size)
          : "training.global_batch_size";
  std::string longer = fmt::format("a larger {} makes longer ones", larger);
  if (layout.threads == 1 || layout.micro_batches < layout.threads) return longer;
  return fmt::format("{} ranks with device.threads: 1 use as many cores, and {}",
                     layout.ranks * layout.threads, longer);
}

}  // namespace

double CoreTimes::without_task() const {
  return std::max(1 - computing - waiting_for_ranks - waiting_for_host, 0.0);
}

void CoreTimesSum::add(const TelemetryRecord& record) {
  if (!record.core_use || !record.step_ms || *record.step_ms <= 0) return;
  const std::int64_t before = last_step_;
  last_step_ = record.step;
  if (before < 0) return;
  const std::int64_t steps = record.step - before;
  const auto add_part = [&](double& sum, double part) { sum += part * static_cast<double>(steps); };
  const double all_ms =
      *record.step_ms +
      (record.eval_ms.value_or(0) + record.save_ms.value_or(0)) / static_cast<double>(steps);
  const auto of_step = [&](const std::optional<double>& ms) { return ms.value_or(0) / all_ms; };
  sums_.steps += steps;
  sums_.seconds += 1e-3 * all_ms * static_cast<double>(steps);
  add_part(sums_.computing, *record.core_use);
  add_part(sums_.waiting_for_ranks, of_step(record.exposed_comm_ms));
  add_part(sums_.waiting_for_host, of_step(record.exposed_gap_ms));
  add_part(sums_.waiting_for_data, of_step(record.input_wait_ms));
}

CoreTimes CoreTimesSum::means() const {
  CoreTimes out = sums_;
  if (out.steps == 0) return out;
  for (double* sum :
       {&out.computing, &out.waiting_for_ranks, &out.waiting_for_host, &out.waiting_for_data})
    *sum /= static_cast<double>(out.steps);
  return out;
}

std::string core_advice(const CoreTimes& times, const CoreLayout& layout) {
  if (times.steps < kStepsToJudge || times.seconds < kSecondsToJudge) return "";
  if (times.computing >= kBusyEnough) return "";
  std::string out = fmt::format("cores: {:.0f} % of their time computed", percent(times.computing));
  const double idle = times.without_task();
  const double most = std::max({idle, times.waiting_for_ranks, times.waiting_for_host});
  if (most == times.waiting_for_host && times.waiting_for_data >= times.waiting_for_host / 2)
    return out + fmt::format(", {:.0f} % waited for data: more data.loader_workers may help",
                             percent(most));
  if (most == times.waiting_for_host)
    return out + fmt::format(
                     ", {:.0f} % waited for the host, which records the steps: "
                     "profile.trace.steps shows why",
                     percent(most));
  if (most == times.waiting_for_ranks)
    return out + fmt::format(
                     ", {:.0f} % waited for all-reduces: profile.ledger shows for which "
                     "rank; fewer ranks with more device.threads wait less",
                     percent(most));
  return out + fmt::format(", {:.0f} % had no task beside short kernels: {}", percent(idle),
                           remedy_of_short_kernels(layout));
}

}  // namespace lockstep
