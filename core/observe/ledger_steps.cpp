#include "core/observe/ledger_steps.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

namespace lockstep {
namespace {

// Beside the parts of StepPart.
constexpr std::size_t kGradientCommands = kStepPartCount;
constexpr std::size_t kUpdateCommands = kStepPartCount + 1;
constexpr std::size_t kRest = kStepPartCount + 2;
constexpr double kShown = 0.001;  ///< of a step's time

double ms_of(std::int64_t ns) {
  return static_cast<double>(ns) * 1e-6;
}

std::int64_t sum_ns(const std::vector<std::int64_t>& ns) {
  return std::accumulate(ns.begin(), ns.end(), std::int64_t{0});
}

}  // namespace

void LedgerSteps::add(const LedgerPage& page, bool first_of_program) {
  Entry entry{.step = page.step,
              .wall_ns = page.wall_ns,
              .first_of_program = first_of_program,
              .part_ms = {},
              .core_wait_ms = static_cast<float>(ms_of(page.core_wait_ns))};
  std::int64_t rest = page.wall_ns;
  const auto set = [&](std::size_t part, std::int64_t ns) {
    rest -= ns;
    entry.part_ms[part] = static_cast<float>(ms_of(ns));
  };
  for (std::size_t part = 0; part < kStepPartCount; ++part) set(part, page.parts_ns[part]);
  set(kGradientCommands, sum_ns(page.gradient_ns));
  set(kUpdateCommands, sum_ns(page.update_ns));
  entry.part_ms[kRest] = static_cast<float>(ms_of(rest));
  entries_.push_back(entry);
  if (entries_.size() > kMaxSteps) entries_.pop_front();
}

std::vector<double> LedgerSteps::step_ms() const {
  std::vector<double> out;
  for (const Entry& entry : entries_)
    if (!entry.first_of_program) out.push_back(ms_of(entry.wall_ns));
  return out;
}

std::vector<std::int64_t> LedgerSteps::step_numbers() const {
  std::vector<std::int64_t> out;
  for (const Entry& entry : entries_)
    if (!entry.first_of_program) out.push_back(entry.step);
  return out;
}

const char* LedgerSteps::part_name(std::size_t part) {
  if (part == kGradientCommands) return "gradient";
  if (part == kUpdateCommands) return "update";
  return part == kRest ? kOtherPart : name_of(static_cast<StepPart>(part));
}

std::array<double, LedgerSteps::kParts> LedgerSteps::mean_parts() const {
  std::array<double, kParts> out{};
  double measured = 0;
  for (const Entry& entry : entries_) {
    if (entry.first_of_program) continue;
    measured += 1;
    for (std::size_t part = 0; part < kParts; ++part)
      out[part] += static_cast<double>(entry.part_ms[part]);
  }
  for (double& part : out) part /= std::max(measured, 1.0);
  return out;
}

double LedgerSteps::mean_core_wait_ms() const {
  double sum = 0, measured = 0;
  for (const Entry& entry : entries_) {
    if (entry.first_of_program) continue;
    measured += 1;
    sum += static_cast<double>(entry.core_wait_ms);
  }
  return sum / std::max(measured, 1.0);
}

std::vector<OddStep> LedgerSteps::odd_steps() const {
  std::vector<double> measured = step_ms();
  double limit_ms = std::numeric_limits<double>::infinity();
  if (!measured.empty()) {
    const auto middle = measured.begin() + static_cast<std::ptrdiff_t>(measured.size() / 2);
    std::ranges::nth_element(measured, middle);
    limit_ms = kOddFactor * *middle;
  }
  std::vector<const Entry*> odd;
  for (const Entry& entry : entries_)
    if (entry.first_of_program || ms_of(entry.wall_ns) > limit_ms) odd.push_back(&entry);
  if (odd.size() > kMaxOddSteps) {
    std::ranges::stable_sort(odd, std::greater(), &Entry::wall_ns);
    odd.resize(kMaxOddSteps);
    std::ranges::sort(odd, std::less(), &Entry::step);
  }
  const std::array<double, kParts> mean = mean_parts();
  const double mean_core_wait = mean_core_wait_ms();
  std::vector<OddStep> out;
  for (const Entry* entry : odd) {
    OddStep& step = out.emplace_back();
    step.step = entry->step;
    step.ms = ms_of(entry->wall_ns);
    step.first_of_program = entry->first_of_program;
    step.core_wait_beyond_mean_ms =
        std::max(static_cast<double>(entry->core_wait_ms) - mean_core_wait, 0.0);
    for (std::size_t part = 0; part < kParts; ++part) {
      const double beyond = static_cast<double>(entry->part_ms[part]) - mean[part];
      if (beyond > 0 && beyond >= kShown * step.ms)
        step.beyond_mean_ms.emplace_back(part_name(part), beyond);
    }
    std::ranges::stable_sort(step.beyond_mean_ms, std::greater(),
                             &std::pair<std::string, double>::second);
  }
  return out;
}

}  // namespace lockstep
