#include "trainer/runs/compare_runs.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/duration.h"
#include "core/base/error.h"
#include "trainer/registry/registry.h"
#include "trainer/run/saved_run.h"
#include "trainer/runs/run_table.h"
#include "trainer/runs/text_table.h"

namespace lockstep {
namespace {

using OrderedJson = nlohmann::ordered_json;
using Records = std::vector<TelemetryRecord>;

constexpr std::size_t kValueWidth = 32;

std::string usual_metric(const std::vector<Records>& metrics) {
  const bool all_evaluate = std::ranges::all_of(
      metrics, [](const Records& each) { return !curve_of(each, "eval/loss").step.empty(); });
  return all_evaluate ? "eval/loss" : "train/loss";
}

void require_metric(const std::string& name, const std::vector<Records>& metrics) {
  std::set<std::string> names;
  for (const Records& records : metrics)
    for (const TelemetryRecord& record : records)
      for (const auto& [field, value] : fields_of(record)) names.insert(field);
  LS_USER_CHECK(!names.empty(), "no run has logged a step yet: there is nothing to compare");
  LS_USER_CHECK(names.contains(name), "no run has the metric '{}'; they have {}", name,
                fmt::join(names, ", "));
}

/// Runs of the same name are told apart by their folders.
void make_names_unique(std::vector<RunSummary>& runs) {
  std::multiset<std::string> names;
  for (const RunSummary& run : runs) names.insert(run.name);
  for (RunSummary& run : runs)
    if (names.count(run.name) > 1) run.name = run.folder;
}

OrderedJson value_json(double value) {
  return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr);
}

std::string differences_text(const ComparedRuns& compared) {
  TextTable table{.columns = {{"key"}}};
  for (const RunSummary& run : compared.runs) table.columns.push_back({run.name});
  for (const DifferingKey& row : differing_keys(compared.runs)) {
    std::vector<std::string> cells{row.key};
    for (const auto& value : row.values)
      cells.push_back(cut_to_width(value.value_or("(none)"), kValueWidth));
    table.rows.push_back(std::move(cells));
  }
  return table.rows.empty() ? "no config key differs\n" : table.aligned();
}

std::string ends_text(const ComparedRuns& compared) {
  TextTable table{.columns = {{"run"},
                              {"state"},
                              {"step", true},
                              {compared.metric.name, true},
                              {"best", true},
                              {"at step", true},
                              {"wall", true}}};
  for (const RunSummary& run : compared.runs) {
    const MetricSummary& metric = run.metrics.front();
    table.rows.push_back({run.name, std::string(name_of(run.state)),
                          run.step ? std::to_string(*run.step) : "", metric_text(metric.last),
                          metric_text(metric.best),
                          metric.best ? std::to_string(metric.best_step) : "",
                          run.wall_seconds > 0 ? format_time(run.wall_seconds) : ""});
  }
  return table.aligned();
}

}  // namespace

ComparedRuns compare_runs(const std::vector<std::string>& folders, const std::string& metric,
                          const Registry& registry) {
  ComparedRuns out;
  std::vector<Records> metrics;
  for (const std::string& folder : folders) {
    MetricsRead read = SavedRun(folder).good_metrics();
    metrics.push_back(std::move(read.records));
    if (!read.damage.empty())
      out.notes.push_back(fmt::format("{}; what follows is left out", read.damage));
  }
  out.metric.name = metric.empty() ? usual_metric(metrics) : metric;
  out.metric.larger_is_better = registry.larger_is_better(out.metric.name);
  require_metric(out.metric.name, metrics);
  for (std::size_t i = 0; i < folders.size(); ++i) {
    const auto folder = std::filesystem::path(folders[i] + "/").lexically_normal().parent_path();
    out.runs.push_back(summarize_run(folder.string(), {&out.metric, 1}));
    out.curves.push_back(curve_of(metrics[i], out.metric.name));
    const RunSummary& run = out.runs.back();
    if (!run.why.empty() && run.state == RunState::kFailed)
      out.notes.push_back(fmt::format("{} failed: {}", run.name, run.why));
    if (out.curves.back().step.empty())
      out.notes.push_back(fmt::format("{} has no {}", run.name, out.metric.name));
  }
  make_names_unique(out.runs);
  return out;
}

std::string compared_text(const ComparedRuns& compared, const DrawingOptions& options) {
  std::vector<DrawnCurve> drawn;
  for (std::size_t i = 0; i < compared.runs.size(); ++i) {
    const Curve& curve = compared.curves[i];
    drawn.push_back({compared.runs[i].name, {curve.step.begin(), curve.step.end()}, curve.value});
  }
  DrawingOptions with_axis = options;
  with_axis.x_name = "step";
  std::string out = compared.metric.name + "\n" + draw_curves(drawn, with_axis) + "\n";
  if (compared.runs.size() > 1) out += differences_text(compared) + "\n";
  out += ends_text(compared);
  for (const std::string& note : compared.notes) out += note + "\n";
  return out;
}

std::string compared_json(const ComparedRuns& compared) {
  OrderedJson out{{"metric", compared.metric.name},
                  {"larger_is_better", compared.metric.larger_is_better},
                  {"runs", OrderedJson::array()},
                  {"differences", OrderedJson::array()},
                  {"notes", compared.notes}};
  for (std::size_t i = 0; i < compared.runs.size(); ++i) {
    const RunSummary& run = compared.runs[i];
    const MetricSummary& metric = run.metrics.front();
    OrderedJson values = OrderedJson::array();
    for (const double value : compared.curves[i].value) values.push_back(value_json(value));
    OrderedJson one{{"name", run.name}, {"folder", run.folder}, {"state", name_of(run.state)}};
    one["step"] = run.step ? OrderedJson(*run.step) : OrderedJson(nullptr);
    one["last"] = value_json(metric.last.value_or(NAN));
    one["best"] = value_json(metric.best.value_or(NAN));
    one["best_step"] = metric.best ? OrderedJson(metric.best_step) : OrderedJson(nullptr);
    one["wall_seconds"] = run.wall_seconds;
    one["curve"] = {{"step", compared.curves[i].step}, {"value", std::move(values)}};
    out["runs"].push_back(std::move(one));
  }
  for (const DifferingKey& row : differing_keys(compared.runs)) {
    OrderedJson values = OrderedJson::array();
    for (const auto& value : row.values)
      values.push_back(value ? OrderedJson(*value) : OrderedJson(nullptr));
    out["differences"].push_back({{"key", row.key}, {"values", std::move(values)}});
  }
  return out.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace lockstep
