#include "core/observe/analysis.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace lockstep {
namespace {

constexpr double kSlowCompileNs = 60e9;
constexpr double kSlowExecuteNs = 10e6;

double median(const MetricData& data) {
  std::vector<double> values;
  values.reserve(data.window.size());
  for (const MetricData::Sample& sample : data.window) values.push_back(sample.value);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The longest of the samples after the first `seen`, 0 if there are none; counts them as seen.
double longest_new(const MetricData& data, std::int64_t& seen) {
  double longest = 0;
  const auto fresh = std::min(data.samples - seen, static_cast<std::int64_t>(data.window.size()));
  for (auto sample = data.window.end() - fresh; sample != data.window.end(); ++sample)
    longest = std::max(longest, sample->value);
  seen = data.samples;
  return longest;
}

}  // namespace

Analysis::Analysis(SpanStream& spans, const CauseTally& compilations, const Cuts& cuts, Log& log)
    : spans_(spans),
      metrics_(spans.metrics()),
      compilations_(compilations),
      cuts_(cuts),
      log_(log) {
  if (enabled()) spans.listen(*this, {SpanKind::kHostCall});
}

Analysis::~Analysis() {
  if (enabled()) spans_.listen(*this, {});
}

void Analysis::on_span(const Span& host_call) {
  const std::lock_guard lock(mutex_);
  auto found = host_calls_.find(host_call.name);
  if (found == host_calls_.end())
    found = host_calls_.try_emplace(std::string(host_call.name)).first;
  ++found->second.calls;
  found->second.ns += host_call.ns();
}

std::shared_ptr<bool> Analysis::watch_output(std::string text, std::int64_t step) {
  if (named_.size() >= kMaxNamed || named_.contains(text)) return nullptr;
  outputs_.push_back({std::make_shared<bool>(false), std::move(text), step});
  return outputs_.back().needed;
}

void Analysis::end_step() {
  if (!enabled()) return;
  check_outputs();
  check_frequencies();
}

void Analysis::check_outputs() {
  std::erase_if(outputs_, [this](const Output& output) {
    if (*output.needed) return true;
    const bool dropped = output.needed.use_count() == 1;
    if (!dropped) return false;
    if (named_.size() == kMaxNamed || !named_.insert(output.text).second) return true;
    log_.debug(1,
               "lockstep-profiler: {} is an output of step {} only because a scope still held it: "
               "it was neither read nor used",
               output.text, output.step);
    if (named_.size() == kMaxNamed)
      log_.debug(1, "lockstep-profiler: these were {} such outputs; no further ones are named",
                 kMaxNamed);
    return true;
  });
}

void Analysis::check_frequencies() {
  ++steps_;
  for (Frequency& f : frequencies_) {
    const std::int64_t count = metrics_.counter(f.counter);
    if (count > f.at_last_step) ++f.steps_grown;
    f.at_last_step = count;
  }
  if (steps_ < kWindow) return;
  const std::string cause = main_cause();
  const std::string line = cuts_.worst_line();
  const std::string read = line.empty() ? "" : ", most for " + line;
  for (Frequency& f : frequencies_) {
    if (2 * f.steps_grown >= steps_)
      log_.debug(1, "lockstep-profiler: {} too frequent: {} counts during {} steps{}", f.metric,
                 f.at_last_step - f.at_window_start, steps_,
                 f.counter == std::string_view("UncachedCompile") ? cause : read);
    f.at_window_start = f.at_last_step;
    f.steps_grown = 0;
  }
  check_times();
  check_host_calls();
  steps_ = 0;
}

/// "; constant: ... had 12 values; give the number as a tensor": the cause of most compilations of
/// this window. Empty if nothing was compiled again.
std::string Analysis::main_cause() {
  std::vector<CauseTally::Row> rows = compilations_.rows();
  const CauseTally::Row* main = nullptr;
  std::int64_t most = 0;
  for (const CauseTally::Row& row : rows) {
    const auto before = std::ranges::find_if(causes_at_window_start_, [&](const auto& old) {
      return old.cause == row.cause && old.key == row.key;
    });
    const std::int64_t grown =
        row.misses() - (before == causes_at_window_start_.end() ? 0 : before->misses());
    if (grown > most) main = &row;
    most = std::max(most, grown);
  }
  std::string out;
  if (main != nullptr) {
    const std::vector<std::string> remedies = main->remedies();
    out = fmt::format("; {}: {}{}{}{}", name_of(main->cause), main->describe(),
                      compilations_.describe_others(*main), remedies.empty() ? "" : "; ",
                      fmt::join(remedies, "; and "));
  }
  causes_at_window_start_ = std::move(rows);
  return out;
}

void Analysis::check_host_calls() {
  const double executed = metrics_.total("ExecuteTime");
  const double called = metrics_.total("HostCallTime");
  const double window = executed - std::exchange(executed_ns_, executed);
  const double on_host = called - std::exchange(host_called_ns_, called);
  const auto calls = [this] {
    const std::lock_guard lock(mutex_);
    return std::exchange(host_calls_, {});
  }();
  if (calls.empty() || window <= 0 || on_host < kMuchOnHost * window) return;
  const auto& [what, longest] =
      *std::ranges::max_element(calls, {}, [](const auto& entry) { return entry.second.ns; });
  const auto ns = static_cast<double>(longest.ns);
  log_.debug(1,
             "lockstep-profiler: HostCallTime too slow: {} took {:.0f} % of ExecuteTime, {} calls "
             "of {}",
             what, 100 * ns / window, longest.calls,
             format_duration(ns / static_cast<double>(longest.calls)));
}

void Analysis::check_times() {
  const MetricData executions = metrics_.metric("ExecuteTime");
  const double execution = longest_new(executions, executions_seen_);
  if (execution > kSlowExecuteNs && executions.samples >= kMinSamples &&
      execution > kSlowFactor * median(executions))
    log_.debug(
        1, "lockstep-profiler: ExecuteTime too slow: {} is {:.1f} times the median of {} samples",
        format_duration(execution), execution / median(executions), executions.window.size());
  const double compilation = longest_new(metrics_.metric("CompileTime"), compilations_seen_);
  if (compilation > kSlowCompileNs)
    log_.debug(1, "lockstep-profiler: CompileTime too slow: {} for one graph",
               format_duration(compilation));
}

}  // namespace lockstep
