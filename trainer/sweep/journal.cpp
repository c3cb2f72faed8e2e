#include "trainer/sweep/journal.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "core/base/json_place.h"
#include "data/files/read_text.h"

namespace lockstep {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* kSweepFormat = "lockstep sweep";
constexpr int kSweepVersion = 1;
constexpr std::int64_t kMostSteps = std::numeric_limits<std::int64_t>::max() / 4;
constexpr std::array<std::string_view, 5> kPointStates = {"waiting", "running", "done", "failed",
                                                          "left out"};

std::string journal_path(const std::string& folder) {
  return (std::filesystem::path(folder) / "sweep.json").string();
}

OrderedJson metric_json(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? OrderedJson(*value) : OrderedJson(nullptr);
}

OrderedJson point_json(const JournalPoint& point) {
  OrderedJson out{{"name", point.name},   {"overrides", point.overrides},
                  {"shown", point.shown}, {"state", name_of(point.state)},
                  {"rungs", point.rungs}, {"code", point.code},
                  {"error", point.error}};
  out["step"] = point.step ? OrderedJson(*point.step) : OrderedJson(nullptr);
  out["last"] = metric_json(point.last);
  out["best"] = metric_json(point.best);
  out["best_step"] = point.best_step;
  out["wall_seconds"] = point.wall_seconds;
  return out;
}

std::vector<std::string> strings_at(const JsonPlace& json, std::string_view key) {
  std::vector<std::string> out;
  for (const JsonPlace& each : json.at(key).elements()) out.push_back(each.string());
  return out;
}

std::optional<double> real_at(const JsonPlace& json, std::string_view key) {
  const auto value = json.find(key);
  return value ? std::optional(value->real()) : std::nullopt;
}

PointState state_at(const JsonPlace& json) {
  const std::string name = json.string();
  const auto* found = std::ranges::find(kPointStates, name);
  if (found == kPointStates.end()) json.refuse("is no state of a point");
  return static_cast<PointState>(found - kPointStates.begin());
}

JournalPoint point_of(const JsonPlace& json) {
  JournalPoint out{.name = json.at("name").string(),
                   .overrides = strings_at(json, "overrides"),
                   .shown = strings_at(json, "shown"),
                   .state = state_at(json.at("state")),
                   .rungs = json.at("rungs").number(),
                   .code = json.at("code").number(),
                   .error = json.at("error").string()};
  if (const auto step = json.find("step")) out.step = step->integer(0, kMostSteps);
  out.last = real_at(json, "last");
  out.best = real_at(json, "best");
  out.best_step = json.at("best_step").integer(0, kMostSteps);
  out.wall_seconds = json.at("wall_seconds").real();
  return out;
}

}  // namespace

std::string_view name_of(PointState state) {
  return kPointStates[static_cast<std::size_t>(state)];
}

SweepJournal new_journal(const SweepRequest& request, const SweepPlan& plan) {
  const OrderedJson asked{{"words", request.words},     {"random", request.random},
                          {"seed", request.seed},       {"metric", request.metric},
                          {"halving", request.halving}, {"config", read_text(request.config)}};
  SweepJournal out{.request = asked.dump(-1, ' ', false, OrderedJson::error_handler_t::replace),
                   .metric = request.metric,
                   .larger_is_better = plan.larger_is_better,
                   .keys = plan.keys,
                   .rungs = plan.rungs};
  for (const PlannedPoint& point : plan.points)
    out.points.push_back({.name = point.name, .overrides = point.overrides, .shown = point.shown});
  return out;
}

std::optional<SweepJournal> read_journal(const std::string& folder) {
  const std::string path = journal_path(folder);
  std::error_code error;
  if (std::filesystem::symlink_status(path, error).type() == std::filesystem::file_type::not_found)
    return std::nullopt;
  const JsonPlace json = JsonPlace::read(path, ErrorKind::kUsage);
  LS_USER_CHECK(json.is_object() && json.string_or("format", "") == kSweepFormat,
                "{} is no journal of a sweep", path);
  LS_USER_CHECK(json.at("version").number() == kSweepVersion, "{}: this version is not supported",
                path);
  SweepJournal out{.request = json.at("request").string(),
                   .metric = json.at("metric").string(),
                   .larger_is_better = json.at("larger_is_better").boolean(),
                   .keys = strings_at(json, "keys")};
  for (const JsonPlace& rung : json.at("rungs").elements())
    out.rungs.push_back({rung.at("steps").integer(0, kMostSteps), rung.at("kept").number()});
  for (const JsonPlace& point : json.at("points").elements()) out.points.push_back(point_of(point));
  for (const JournalPoint& point : out.points) {
    LS_USER_CHECK(point.name.find('/') == std::string::npos &&
                      point.name.find_first_not_of('.') != std::string::npos,
                  "{}: '{}' is no name of a run", path, point.name);
    LS_USER_CHECK(point.shown.size() == out.keys.size(),
                  "{}: the point {} has {} values of {} keys", path, point.name, point.shown.size(),
                  out.keys.size());
  }
  return out;
}

void write_journal(const std::string& folder, const SweepJournal& journal) {
  OrderedJson out{{"format", kSweepFormat},
                  {"version", kSweepVersion},
                  {"request", journal.request},
                  {"metric", journal.metric},
                  {"larger_is_better", journal.larger_is_better},
                  {"keys", journal.keys},
                  {"rungs", OrderedJson::array()},
                  {"points", OrderedJson::array()}};
  for (const Rung& rung : journal.rungs)
    out["rungs"].push_back({{"steps", rung.steps}, {"kept", rung.kept}});
  for (const JournalPoint& point : journal.points) out["points"].push_back(point_json(point));
  write_file(journal_path(folder),
             out.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n",
             ErrorKind::kUsage);
}

}  // namespace lockstep
