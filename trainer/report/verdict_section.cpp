#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/duration.h"
#include "trainer/report/look_at.h"
#include "trainer/report/sections.h"

namespace lockstep {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* kMetricsFile = "metrics.jsonl";
constexpr const char* kWithoutPauses = "metrics.jsonl, perf/step_ms: without evaluations and saves";

/// How the last job of the run ended, in one word, for a badge.
std::string state_of(const RunFacts& facts) {
  if (facts.is_running) return "running";
  if (facts.lives.empty()) return "unknown";
  const RunLife& last = facts.lives.back();
  return last.ended.empty() ? "killed" : last.how;
}

/// The last value of a metric that is named "train/..." or "eval/...".
std::optional<double> last_value(const RunFacts& facts, const std::string& name) {
  for (auto record = facts.metrics.rbegin(); record != facts.metrics.rend(); ++record)
    for (const auto& [field, value] : fields_of(*record))
      if (field == name) return value;
  return std::nullopt;
}

struct BestValue {
  std::int64_t step = 0;
  double value = INFINITY;
};

std::optional<BestValue> lowest_evaluation(const RunFacts& facts) {
  std::optional<BestValue> out;
  for (const TelemetryRecord& record : facts.metrics)
    if (const auto loss = record.evaluations.find("eval/loss");
        loss != record.evaluations.end() && loss->second < out.value_or(BestValue()).value)
      out = BestValue{record.step, loss->second};
  return out;
}

class Facts {
 public:
  void add(const char* name, const std::string& value, const std::string& source) {
    if (!value.empty()) list_.push_back({{"name", name}, {"value", value}, {"source", source}});
  }
  OrderedJson take() { return std::move(list_); }

 private:
  OrderedJson list_ = OrderedJson::array();
};

std::string short_number(const std::optional<double>& value, const char* unit = "") {
  return value ? fmt::format("{:.5g}{}", *value, unit) : "";
}

/// "1,810" would read better, but people copy figures.
std::string rate_text(double per_second) {
  return per_second >= 1000 ? fmt::format("{:.0f}", per_second) : fmt::format("{:.4g}", per_second);
}

void add_speed(const RunFacts& facts, Facts& to) {
  constexpr double kMsOfSecond = 1e3;
  if (facts.metrics.size() > 1)
    to.add("time of training, from the first record", format_time(facts.training_seconds()),
           kMetricsFile);
  const double ms = facts.mean_logged_step_ms();
  if (ms <= 0) return;
  to.add("steps per second", rate_text(kMsOfSecond / ms), kWithoutPauses);
  if (const auto tokens = static_cast<double>(facts.tokens_per_step()); tokens > 0)
    to.add("tokens per second", rate_text(tokens * kMsOfSecond / ms), kWithoutPauses);
}

void add_jobs(const RunFacts& facts, Facts& to) {
  if (facts.lives.empty()) return;
  const RunLife& last = facts.lives.back();
  to.add("jobs that trained it", std::to_string(facts.lives.size()), "history.json");
  to.add("ranks",
         fmt::format("{} on {} {}", last.ranks, last.hosts.size(),
                     last.hosts.size() == 1 ? "node" : "nodes"),
         "history.json");
}

OrderedJson facts_json(const RunFacts& facts) {
  Facts out;
  if (!facts.metrics.empty())
    out.add("last step", std::to_string(facts.metrics.back().step), kMetricsFile);
  out.add("last train/loss", short_number(last_value(facts, "train/loss")), kMetricsFile);
  if (const auto best = lowest_evaluation(facts))
    out.add("best eval/loss", fmt::format("{:.5g} at step {}", best->value, best->step),
            kMetricsFile);
  add_speed(facts, out);
  add_jobs(facts, out);
  if (facts.saved) {
    out.add("newest checkpoint", fmt::format("step {}", facts.saved->step), facts.saved->path);
    out.add("hash of its state", facts.saved->hash,
            "lockstep ckpt hash " + shell_word(facts.saved->path));
  }
  return out.take();
}

std::string end_of(const RunFacts& facts, const std::string& state) {
  const std::int64_t step = facts.metrics.empty() ? 0 : facts.metrics.back().step;
  if (state == "unknown") return fmt::format("The run has reached step {}", step);
  if (state == "running") return fmt::format("The run is at step {} and goes on", step);
  if (state == "killed")
    return fmt::format(
        "The last job of the run left no end after step {}: it was killed, or still trains "
        "elsewhere",
        step);
  const RunLife& last = facts.lives.back();
  if (state == kFailedJob)
    return fmt::format("The run failed: {}", last.error.substr(0, last.error.find('\n')));
  if (state == "early stopping")
    return fmt::format("The run ended early at step {}, as its evaluations did not improve",
                       last.last_step);
  if (state == "preempted")
    return fmt::format("The run was asked to stop, and saved step {}", last.last_step);
  if (state == "not saved")
    return fmt::format("The run was asked to stop at step {}, without time to save",
                       last.last_step);
  if (state == "stopped") return fmt::format("The program left the run at step {}", last.last_step);
  return fmt::format("The run {} at step {}", state, last.last_step);
}

std::string verdict_finding(const RunFacts& facts, const std::string& state) {
  std::string out = end_of(facts, state);
  if (const auto loss = last_value(facts, "train/loss"))
    out += fmt::format("; train/loss is {:.4g}", *loss);
  if (const auto best = lowest_evaluation(facts))
    out += fmt::format(", eval/loss was {:.4g} at best", best->value);
  return out + ".";
}

}  // namespace

std::string verdict_section(const RunFacts& facts) {
  const std::string state = state_of(facts);
  OrderedJson out{{"finding", verdict_finding(facts, state)},
                  {"sources", {facts.file("history.json"), facts.file(kMetricsFile)}},
                  {"state", state},
                  {"facts", facts_json(facts)},
                  {"look_at", OrderedJson::array()}};
  if (state == kFailedJob && facts.lives.back().error.find('\n') != std::string::npos)
    out["details"] = facts.lives.back().error;
  for (const LookAt& each : things_to_look_at(facts))
    out["look_at"].push_back({{"text", each.text}, {"section", each.section}});
  return out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace lockstep
