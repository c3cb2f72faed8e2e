#include "trainer/run/run_history.h"

#include <fmt/chrono.h>

#include <ctime>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "core/base/json_place.h"

namespace lockstep {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* kHistoryFormat = "lockstep history";
constexpr int kHistoryVersion = 1;
constexpr std::int64_t kLastStep = std::numeric_limits<std::int64_t>::max() / 4;

std::string history_path(const std::string& run_folder) {
  return (std::filesystem::path(run_folder) / "history.json").string();
}

std::string now_in_utc() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

OrderedJson life_json(const RunLife& life) {
  OrderedJson out{{"began", life.began},
                  {"step", life.step},
                  {"ranks", life.ranks},
                  {"hosts", life.hosts},
                  {"threads", life.threads},
                  {"instruction_set", life.instruction_set},
                  {"processors", life.processors},
                  {"lockstep", life.version},
                  {"build", life.build}};
  if (life.ended.empty()) return out;
  out["ended"] = life.ended;
  out["how"] = life.how;
  out["last_step"] = life.last_step;
  if (!life.error.empty()) out["error"] = life.error;
  return out;
}

std::vector<std::string> texts_of(const JsonPlace& list) {
  std::vector<std::string> out;
  for (const JsonPlace& text : list.elements()) out.push_back(text.string());
  return out;
}

RunLife life_of(const JsonPlace& json) {
  RunLife out{.began = json.at("began").string(),
              .step = json.at("step").integer(0, kLastStep),
              .ranks = json.at("ranks").number(),
              .hosts = texts_of(json.at("hosts")),
              .threads = json.at("threads").integer(0, kLastStep),
              .instruction_set = json.at("instruction_set").string(),
              .processors = texts_of(json.at("processors")),
              .version = json.at("lockstep").string(),
              .build = json.at("build").string(),
              .ended = json.string_or("ended", "")};
  if (out.ended.empty()) return out;
  out.how = json.at("how").string();
  out.last_step = json.at("last_step").integer(0, kLastStep);
  out.error = json.string_or("error", "");
  return out;
}

}  // namespace

std::vector<RunLife> read_run_history(const std::string& run_folder) {
  const std::string path = history_path(run_folder);
  std::vector<RunLife> out;
  if (!std::filesystem::exists(path)) return out;
  const JsonPlace json = JsonPlace::read(path, ErrorKind::kUsage);
  LS_USER_CHECK(json.string_or("format", "") == kHistoryFormat, "{} is no history of a run", path);
  LS_USER_CHECK(json.at("version").number() == kHistoryVersion, "{}: this version is not supported",
                path);
  for (const JsonPlace& life : json.at("lives").elements()) out.push_back(life_of(life));
  return out;
}

void RunHistory::begin(const std::string& run_folder, RunLife life, Log& log) {
  folder_ = run_folder;
  log_ = &log;
  try {
    lives_ = read_run_history(run_folder);
  } catch (const Error& e) {
    log.warn("a new history of the run begins, as the old one cannot be read: {}", e.what());
    lives_.clear();
  }
  life.began = now_in_utc();
  lives_.push_back(std::move(life));
  write();
}

void RunHistory::end(std::string_view how, std::int64_t last_step) {
  if (folder_.empty()) return;
  RunLife& life = lives_.back();
  life.ended = now_in_utc();
  life.how = how;
  life.last_step = last_step;
  write();
}

void RunHistory::fail(const std::string& error) {
  if (folder_.empty()) return;
  RunLife& life = lives_.back();
  life.error = error;
  end(kFailedJob, life.ended.empty() ? life.step : life.last_step);
}

void RunHistory::write() const {
  OrderedJson out{
      {"format", kHistoryFormat}, {"version", kHistoryVersion}, {"lives", OrderedJson::array()}};
  for (const RunLife& life : lives_) out["lives"].push_back(life_json(life));
  try {
    write_file(history_path(folder_),
               out.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n",
               ErrorKind::kUsage);
  } catch (const Error& e) {
    log_->warn("the history of the run is not written: {}", e.what());
  }
}

}  // namespace lockstep
