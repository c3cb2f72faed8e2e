#include "trainer/runs/run_table.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/duration.h"
#include "core/base/error.h"
#include "core/base/suggest.h"
#include "trainer/config/comma_list.h"
#include "trainer/runs/text_table.h"
#include "trainer/telemetry/console.h"

namespace lockstep {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int kDigits = 4;
constexpr std::size_t kDiffersWidth = 72;
constexpr std::size_t kWhyWidth = 100;
constexpr std::string_view kLastSuffix = ":last";
constexpr std::array<std::string_view, 6> kRunFields = {"name", "model", "state",
                                                        "step", "wall",  "ended"};

std::optional<double> as_number(std::string_view text) {
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

bool value_matches(const std::string& value, const std::string& pattern) {
  const auto a = as_number(value), b = as_number(pattern);
  if (a && b) return *a == *b;
  return fnmatch(pattern.c_str(), value.c_str(), 0) == 0;
}

/// "2026-11-23T05:40:12Z" for people.
std::string readable_date(const std::string& utc) {
  constexpr std::size_t kToMinutes = 16;
  std::string out = utc.substr(0, kToMinutes);
  std::ranges::replace(out, 'T', ' ');
  return out;
}

/// By key: the value that most runs have.
std::vector<std::optional<std::string>> usual_values(const std::vector<DifferingKey>& keys) {
  std::vector<std::optional<std::string>> out;
  for (const DifferingKey& row : keys) {
    std::map<std::optional<std::string>, std::size_t> counts;
    for (const auto& value : row.values) ++counts[value];
    const auto more = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto most = std::ranges::max_element(counts, more);
    // If no two runs agree, no value is the usual one.
    out.push_back(most->second == 1 ? std::optional<std::string>("\n") : most->first);
  }
  return out;
}

OrderedJson finite_json(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? OrderedJson(*value) : OrderedJson(nullptr);
}

}  // namespace

std::vector<DifferingKey> differing_keys(const std::vector<RunSummary>& runs) {
  // A run without a config differs in no key.
  std::vector<const FlatConfig*> configs;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (!runs[i].config.empty()) {
      configs.push_back(&runs[i].config);
      places.push_back(i);
    }
  std::vector<DifferingKey> out = differing_keys(configs);
  for (DifferingKey& row : out) {
    std::vector<std::optional<std::string>> all(runs.size());
    for (std::size_t i = 0; i < places.size(); ++i) all[places[i]] = std::move(row.values[i]);
    row.values = std::move(all);
  }
  return out;
}

std::string metric_text(const std::optional<double>& value) {
  return value ? format_significant(*value, kDigits) : "";
}

RunTable::RunTable(std::vector<RunSummary> runs, std::vector<WatchedMetric> metrics)
    : runs_(std::move(runs)), metrics_(std::move(metrics)) {}

int RunTable::metric_of(const std::string& field) const {
  for (std::size_t i = 0; i < metrics_.size(); ++i)
    if (field == metrics_[i].name || field == metrics_[i].name + std::string(kLastSuffix))
      return static_cast<int>(i);
  return -1;
}

std::string RunTable::value_of(const RunSummary& run, const std::string& field) const {
  if (field == "name") return run.name;
  if (field == "model") return run.model;
  if (field == "state") return std::string(name_of(run.state));
  if (field == "step") return run.step ? std::to_string(*run.step) : "";
  if (field == "wall") return fmt::format("{}", run.wall_seconds);
  if (field == "ended") return run.ended;
  if (const int metric = metric_of(field); metric >= 0) {
    const MetricSummary& summary = run.metrics[static_cast<std::size_t>(metric)];
    const std::optional<double>& value = field.ends_with(kLastSuffix) ? summary.last : summary.best;
    return value ? fmt::format("{}", *value) : "";
  }
  const auto key = run.config.find(field);
  return key == run.config.end() ? "" : key->second;
}

void RunTable::require_field(const std::string& field) const {
  if (std::ranges::find(kRunFields, field) != kRunFields.end() || metric_of(field) >= 0) return;
  std::set<std::string_view> names(kRunFields.begin(), kRunFields.end());
  for (const WatchedMetric& metric : metrics_) names.insert(metric.name);
  for (const RunSummary& run : runs_)
    for (const auto& [key, value] : run.config) names.insert(key);
  if (names.contains(field)) return;
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  raise(ErrorKind::kUsage,
        "no run has '{}'{}: name a column, a metric that is shown (--metric) or a config key "
        "such as optimizer.learning_rate",
        field, did_you_mean(nearest_word(field, candidates)));
}

void RunTable::filter(const std::string& word) {
  const std::size_t equals = word.find('=');
  LS_USER_CHECK(equals != std::string::npos && equals > 0,
                "--filter takes KEY=VALUE or KEY=VALUE,VALUE, not '{}'", word);
  const std::string field = word.substr(0, equals);
  if (runs_.empty()) return;
  require_field(field);
  const std::vector<std::string> patterns = split_at_commas(word.substr(equals + 1));
  std::erase_if(runs_, [&](const RunSummary& run) {
    const std::string value = value_of(run, field);
    return std::ranges::none_of(patterns,
                                [&](const auto& each) { return value_matches(value, each); });
  });
}

void RunTable::sort(const std::string& field) {
  if (runs_.empty()) return;
  require_field(field);
  const int metric = metric_of(field);
  const bool falls = metric >= 0 && metrics_[static_cast<std::size_t>(metric)].larger_is_better;
  const auto is_before = [&](const RunSummary& a, const RunSummary& b) {
    const std::string left = value_of(a, field), right = value_of(b, field);
    if (left.empty() || right.empty()) return !left.empty() && right.empty();
    const auto x = as_number(left), y = as_number(right);
    if (!x || !y) return x.has_value() != y.has_value() ? x.has_value() : left < right;
    if (std::isnan(*x) || std::isnan(*y)) return !std::isnan(*x) && std::isnan(*y);
    return falls ? *x > *y : *x < *y;
  };
  std::ranges::stable_sort(runs_, is_before);
}

void RunTable::reverse() {
  std::ranges::reverse(runs_);
}

std::string RunTable::text() const {
  TextTable table{.columns = {{"name"}, {"model"}, {"state"}, {"step", true}}};
  for (const WatchedMetric& metric : metrics_) {
    table.columns.push_back({metric.name, true});
    table.columns.push_back({"best", true});
  }
  for (const char* name : {"wall", "ended", "differs"})
    table.columns.push_back({name, std::string_view(name) == "wall"});
  const std::vector<DifferingKey> keys = differing_keys(runs_);
  const auto usual = usual_values(keys);
  std::string notes;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const RunSummary& run = runs_[i];
    std::vector<std::string> row{run.name, run.model, std::string(name_of(run.state)),
                                 run.step ? std::to_string(*run.step) : ""};
    for (const MetricSummary& metric : run.metrics) {
      row.push_back(metric_text(metric.last));
      row.push_back(metric_text(metric.best));
    }
    row.push_back(run.wall_seconds > 0 ? format_time(run.wall_seconds) : "");
    row.push_back(readable_date(run.ended));
    std::string differs;
    for (std::size_t k = 0; k < keys.size(); ++k)
      if (const auto& value = keys[k].values[i]; value && value != usual[k])
        differs += fmt::format("{}{}={}", differs.empty() ? "" : " ", keys[k].key, *value);
    row.push_back(cut_to_width(differs, kDiffersWidth));
    table.rows.push_back(std::move(row));
    if (!run.why.empty())
      notes += fmt::format("{}: {}: {}\n", run.name, name_of(run.state),
                           cut_to_width(run.why, kWhyWidth));
  }
  return table.aligned() + notes;
}

std::string RunTable::csv() const {
  TextTable table{.columns = {{"name"}, {"folder"}, {"model"}, {"state"}, {"step"}}};
  for (const WatchedMetric& metric : metrics_)
    for (const char* part : {"", " step", " best", " best step"})
      table.columns.push_back({metric.name + part});
  for (const char* name : {"wall_seconds", "ended", "why"}) table.columns.push_back({name});
  const std::vector<DifferingKey> keys = differing_keys(runs_);
  for (const DifferingKey& row : keys) table.columns.push_back({row.key});
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const RunSummary& run = runs_[i];
    std::vector<std::string> row{run.name, run.folder, run.model, std::string(name_of(run.state)),
                                 run.step ? std::to_string(*run.step) : ""};
    const auto add = [&](const std::optional<double>& value, std::int64_t step) {
      row.push_back(value ? fmt::format("{}", *value) : "");
      row.push_back(value ? std::to_string(step) : "");
    };
    for (const MetricSummary& metric : run.metrics) {
      add(metric.last, metric.last_step);
      add(metric.best, metric.best_step);
    }
    row.push_back(fmt::format("{}", run.wall_seconds));
    row.push_back(run.ended);
    row.push_back(run.why);
    for (const DifferingKey& key : keys) row.push_back(key.values[i].value_or(""));
    table.rows.push_back(std::move(row));
  }
  return table.csv();
}

std::string RunTable::json() const {
  OrderedJson out = OrderedJson::array();
  const std::vector<DifferingKey> keys = differing_keys(runs_);
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const RunSummary& run = runs_[i];
    OrderedJson metrics = OrderedJson::object(), differs = OrderedJson::object();
    for (std::size_t m = 0; m < run.metrics.size(); ++m) {
      const MetricSummary& metric = run.metrics[m];
      if (!metric.last) continue;
      OrderedJson one{{"last", finite_json(metric.last)}, {"last_step", metric.last_step}};
      one["best"] = finite_json(metric.best);
      one["best_step"] = metric.best ? OrderedJson(metric.best_step) : OrderedJson(nullptr);
      metrics[metrics_[m].name] = std::move(one);
    }
    for (const DifferingKey& key : keys)
      if (const auto& value = key.values[i]) differs[key.key] = *value;
    OrderedJson one{{"name", run.name},
                    {"folder", run.folder},
                    {"model", run.model},
                    {"state", name_of(run.state)},
                    {"why", run.why}};
    one["step"] = run.step ? OrderedJson(*run.step) : OrderedJson(nullptr);
    one["metrics"] = std::move(metrics);
    one["wall_seconds"] = run.wall_seconds;
    one["ended"] = run.ended.empty() ? OrderedJson(nullptr) : OrderedJson(run.ended);
    one["differs"] = std::move(differs);
    out.push_back(std::move(one));
  }
  return out.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace lockstep
