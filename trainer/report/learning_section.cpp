#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/duration.h"
#include "trainer/report/sections.h"
#include "trainer/report/thin.h"
#include "trainer/runs/curve.h"

namespace lockstep {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kCurvePoints = 1600;  ///< more than a wide screen has columns
constexpr std::size_t kClockPoints = 400;
constexpr std::size_t kMaxSeries = 64;
constexpr std::size_t kMaxEvents = 200;  ///< of a kind

/// Which chart shows a measurement.
const char* group_of(const std::string& name) {
  if (name == "lr") return "rate";
  if (name == "grad_norm") return "norm";
  if (name.starts_with("perf/")) return "speed";
  if (name.starts_with("sim/")) return "virtual";
  if (name.starts_with("memory/")) return "memory";
  return name.ends_with("/loss") ? "loss" : "metric";
}

OrderedJson rounded(double value) {
  if (!std::isfinite(value)) return nullptr;
  return OrderedJson::parse(fmt::format("{:.6g}", value));
}

OrderedJson curve_json(const std::string& name, const Curve& curve) {
  OrderedJson steps = OrderedJson::array(), values = OrderedJson::array();
  for (const std::size_t i : thinned(curve.value, kCurvePoints)) {
    steps.push_back(curve.step[i]);
    values.push_back(rounded(curve.value[i]));
  }
  return {{"name", name},
          {"group", group_of(name)},
          {"step", std::move(steps)},
          {"value", std::move(values)}};
}

/// Seconds since the first record, at some steps.
OrderedJson clock_json(const std::vector<TelemetryRecord>& metrics) {
  std::vector<double> wall;
  wall.reserve(metrics.size());
  for (const TelemetryRecord& record : metrics)
    wall.push_back(record.wall_time - metrics.front().wall_time);
  OrderedJson steps = OrderedJson::array(), seconds = OrderedJson::array();
  for (const std::size_t i : thinned(wall, kClockPoints)) {
    steps.push_back(metrics[i].step);
    seconds.push_back(rounded(wall[i]));
  }
  return {{"step", std::move(steps)}, {"wall", std::move(seconds)}};
}

struct AxisEvent {
  std::int64_t step = 0;
  const char* kind = "";
  std::string text;
};

/// Jobs that went on, and ends.
void add_jobs(const RunFacts& facts, std::vector<AxisEvent>& to) {
  for (std::size_t i = 0; i < facts.lives.size(); ++i) {
    const RunLife& life = facts.lives[i];
    const bool is_last = i + 1 == facts.lives.size();
    if (i > 0)
      to.push_back({life.step, "resume",
                    fmt::format("a job of {} rank{} went on at {}", life.ranks,
                                life.ranks == 1 ? "" : "s", life.began)});
    if (!life.ended.empty())
      to.push_back({life.last_step, life.how == "early stopping" ? "early stop" : "end",
                    fmt::format("{} at {}", life.how, life.ended)});
    else if (!is_last)
      to.push_back(
          {facts.lives[i + 1].step, "end",
           fmt::format("the job that began at {} left no end: it was killed", life.began)});
  }
}

/// A record tells of a save in the interval that ends with it.
void add_saves(const RunFacts& facts, std::vector<AxisEvent>& to) {
  const std::int64_t interval = facts.config ? facts.config->checkpoint.save_interval : 0;
  std::int64_t last = 0;
  for (const TelemetryRecord& record : facts.metrics) {
    const double ms = record.save_ms.value_or(0);
    std::int64_t step = record.step;
    if (interval > 0 && step / interval * interval >= last) step = step / interval * interval;
    last = record.step;
    if (ms > 0)
      to.push_back({step, "save", fmt::format("saved: {} of the loop", readable_ns(1e6 * ms))});
  }
}

/// Logged steps whose update was skipped, and states that were kept for inspection only.
void add_failures(const RunFacts& facts, std::vector<AxisEvent>& to) {
  const bool skips = facts.config && facts.config->training.on_nonfinite == OnNonfinite::kSkip;
  for (const TelemetryRecord& record : facts.metrics)
    if (skips && record.grad_norm && !std::isfinite(record.grad_norm.value_or(0)))
      to.push_back({record.step, "skipped", "the update was skipped: it was not finite"});
  for (const CheckpointFile& suspect : facts.suspects)
    to.push_back({suspect.step, "suspect save", suspect.path});
}

/// Evenly less of them if they are too many.
void add_thinned(const std::vector<AxisEvent>& events, std::vector<AxisEvent>& to) {
  const std::size_t stride = 1 + events.size() / kMaxEvents;
  for (std::size_t i = 0; i < events.size(); i += stride) {
    to.push_back(events[i]);
    if (stride > 1) to.back().text += fmt::format(" (one mark for {})", stride);
  }
}

OrderedJson events_json(const RunFacts& facts) {
  std::vector<AxisEvent> events, failures, recompilations, saves, evaluations;
  add_jobs(facts, events);
  for (const CompilationEvent& event : facts.compilation_events)
    if (is_recompilation(event))
      recompilations.push_back(
          {event.step + 1, "recompilation", fmt::format("{}: {}", word_of(event), event.text)});
  add_failures(facts, failures);
  add_saves(facts, saves);
  for (const TelemetryRecord& record : facts.metrics)
    if (!record.evaluations.empty())
      evaluations.push_back({record.step, "evaluation", "evaluated"});
  for (const auto* each : {&failures, &recompilations, &saves, &evaluations})
    add_thinned(*each, events);
  OrderedJson out = OrderedJson::array();
  for (const AxisEvent& event : events)
    out.push_back({{"step", event.step}, {"kind", event.kind}, {"text", event.text}});
  return out;
}

/// "train/loss fell from 4.17 to 1.43 in 200 steps; ...".
std::string learning_finding(const std::vector<std::pair<std::string, Curve>>& curves) {
  std::string out;
  for (const auto& [name, curve] : curves) {
    if (!name.ends_with("/loss") || curve.value.empty()) continue;
    const double first = curve.value.front(), last = curve.value.back();
    if (!out.empty()) out += "; ";
    if (!std::isfinite(last))
      out += fmt::format("{} is not finite at step {}", name, curve.step.back());
    else if (curve.value.size() == 1)
      out += fmt::format("{} is {:.4g} at step {}", name, last, curve.step.back());
    else
      out += fmt::format("{} {} from {:.4g} at step {} to {:.4g} at step {}", name,
                         last < first ? "fell" : "went", first, curve.step.front(), last,
                         curve.step.back());
  }
  return out.empty() ? "No loss was logged." : out + ".";
}

}  // namespace

std::string learning_section(const RunFacts& facts) {
  const auto curves = curves_of(facts.metrics, kMaxSeries);
  OrderedJson out{{"finding", learning_finding(curves)},
                  {"sources", {facts.file("metrics.jsonl")}}};
  if (facts.metrics.empty())
    out["missing"] = "no step was logged: logging.interval says how often one is";
  const std::int64_t samples = facts.samples_per_step(), tokens = facts.tokens_per_step();
  out["samples_per_step"] = samples > 0 ? OrderedJson(samples) : OrderedJson(nullptr);
  out["tokens_per_step"] = tokens > 0 ? OrderedJson(tokens) : OrderedJson(nullptr);
  out["clock"] = clock_json(facts.metrics);
  out["series"] = OrderedJson::array();
  for (const auto& [name, curve] : curves) out["series"].push_back(curve_json(name, curve));
  out["events"] = events_json(facts);
  return out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace lockstep
