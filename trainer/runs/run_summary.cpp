#include "trainer/runs/run_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <limits>
#include <thread>

#include "core/base/error.h"
#include "core/base/thread_pool.h"
#include "data/files/read_text.h"
#include "trainer/config/load.h"
#include "trainer/config/yaml_tree.h"
#include "trainer/run/run_history.h"
#include "trainer/run/run_lock.h"
#include "trainer/run/saved_texts.h"
#include "trainer/runs/move_run.h"
#include "trainer/telemetry/json_lines.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr std::array kOfARun = {"config.yaml", "logs", "metrics.jsonl", "history.json",
                                "checkpoints"};
constexpr unsigned kMostThreads = 8;

bool holds(const fs::path& folder, const char* name) {
  std::error_code error;
  return fs::symlink_status(folder / name, error).type() != fs::file_type::not_found && !error;
}

/// The number behind `"name":` in a line of metrics.jsonl, whose values are all numbers; NaN for a
/// null. A whole parse of every line would take ten times as long.
std::optional<double> value_in_line(std::string_view line, std::string_view quoted_name) {
  const void* found = memmem(line.data(), line.size(), quoted_name.data(), quoted_name.size());
  if (found == nullptr) return std::nullopt;
  const char* begin = static_cast<const char*>(found) + quoted_name.size();
  const char* const end = line.data() + line.size();
  while (begin != end && *begin == ' ') ++begin;  // written by another program
  double value = 0;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error == std::errc{}) return value;
  return std::numeric_limits<double>::quiet_NaN();
}

std::string quoted_name(std::string_view name) {
  return fmt::format("\"{}\":", name);
}

/// What the lines of metrics.jsonl say.
struct ReadLines {
  std::optional<std::int64_t> step = {};
  std::optional<double> first_time = {}, last_time = {};
  bool torn = false;  ///< its last line has no end
};

class LineReader {
 public:
  LineReader(std::span<const WatchedMetric> watched, std::vector<MetricSummary>& to)
      : watched_(watched), to_(to) {
    for (const WatchedMetric& metric : watched) names_.push_back(quoted_name(metric.name));
  }

  ReadLines read(const std::string& path) {
    std::string last;
    for_each_json_line(path, [&](JsonLine line) {
      if (line.torn) {
        out_.torn = true;
        return;
      }
      const bool is_record = line.text.starts_with("{\"step\":") && line.text.ends_with('}') &&
                             std::isfinite(value_in_line(line.text, kStep).value_or(NAN));
      if (!is_record) raise(ErrorKind::kUsage, "{}:{}: is no record of a step", path, line.number);
      add(line.text);
      last = std::move(line.text);
    });
    if (last.empty()) return out_;
    out_.step = std::llround(value_in_line(last, kStep).value_or(0));
    out_.last_time = value_in_line(last, kTime);
    return out_;
  }

 private:
  static constexpr std::string_view kStep = "\"step\":", kTime = "\"wall_time\":";

  void add(std::string_view line) {
    if (!out_.first_time) out_.first_time = value_in_line(line, kTime);
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const auto value = value_in_line(line, names_[i]);
      if (!value) continue;
      MetricSummary& metric = to_[i];
      metric.last = value;
      metric.last_step = std::llround(value_in_line(line, kStep).value_or(0));
      const bool is_better =
          std::isfinite(*value) &&
          (!metric.best ||
           (watched_[i].larger_is_better ? *value > *metric.best : *value < *metric.best));
      if (!is_better) continue;
      metric.best = value;
      metric.best_step = metric.last_step;
    }
  }

  std::span<const WatchedMetric> watched_;
  std::vector<MetricSummary>& to_;
  std::vector<std::string> names_;
  ReadLines out_;
};

/// Seconds since 1970 of "2026-11-23T05:40:12Z".
std::optional<double> utc_seconds(const std::string& utc) {
  std::tm time{};
  const char* end = strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%SZ", &time);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return static_cast<double>(timegm(&time));
}

double seconds_of_jobs(const std::vector<RunLife>& lives, const ReadLines& lines) {
  if (lives.empty())
    return lines.last_time ? *lines.last_time - lines.first_time.value_or(*lines.last_time) : 0;
  double out = 0;
  for (std::size_t i = 0; i < lives.size(); ++i) {
    const auto began = utc_seconds(lives[i].began);
    auto ended = utc_seconds(lives[i].ended);
    const bool is_last = i + 1 == lives.size();
    // How long a job ran that was killed before another went on is not known.
    if (!ended && is_last) ended = lines.last_time;
    if (began && ended) out += std::max(*ended - *began, 0.0);
  }
  return out;
}

RunState state_of_life(const RunLife& life) {
  if (life.how == "finished" || life.how == "stopped") return RunState::kEnded;
  if (life.how == "early stopping") return RunState::kEndedEarly;
  if (life.how == "preempted" || life.how == "not saved") return RunState::kPreempted;
  return life.how == kFailedJob ? RunState::kFailed : RunState::kUnfinished;
}

class Summary {
 public:
  Summary(const std::string& folder, std::span<const WatchedMetric> metrics) : watched_(metrics) {
    out_.folder = folder;
    out_.name = fs::path(folder).filename().string();
    out_.metrics.resize(metrics.size());
  }

  RunSummary take() {
    bool is_training = false;
    read([&] { is_training = is_locked(out_.folder); });
    read([&] { read_config(); });
    read([&] { lives_ = read_run_history(out_.folder); });
    read([&] { read_metrics_lines(); });
    if (!lives_.empty()) take_history();
    // A record that ends within its line is one that is being written, or was when the job died.
    if (lines_.torn && !is_training && !out_.ended.empty())
      note("metrics.jsonl: its last line is cut off");
    if (!problem_.empty()) {
      out_.state = RunState::kDamaged;
      out_.why = problem_;
    }
    if (is_training) out_.state = RunState::kTraining;
    out_.wall_seconds = seconds_of_jobs(lives_, lines_);
    return std::move(out_);
  }

 private:
  void note(std::string problem) {
    // The row says which run it is.
    const std::string prefix = out_.folder + "/";
    if (problem.starts_with(prefix)) problem.erase(0, prefix.size());
    if (problem_.empty()) problem_ = std::move(problem);
  }

  template <class F>
  void read(const F& part) {
    try {
      part();
    } catch (const Error& e) {
      note(e.what());
    } catch (const fs::filesystem_error& e) {
      note(e.what());
    }
  }

  std::string file(const char* name) const { return out_.folder + "/" + name; }

  void read_config() {
    if (!holds(out_.folder, "config.yaml")) return note("it has no config.yaml");
    const std::string text = read_text(file("config.yaml"), kMaxYamlBytes);
    out_.config = flat_config(text);
    if (text.starts_with(kOfAProgram)) {
      out_.model = "program";
      return;
    }
    const auto model = out_.config.find("model.name");
    if (model == out_.config.end()) return note("config.yaml: is not the config of a run");
    out_.model = model->second;
  }

  void read_metrics_lines() {
    if (!holds(out_.folder, "metrics.jsonl")) return;
    lines_ = LineReader(watched_, out_.metrics).read(file("metrics.jsonl"));
    out_.step = lines_.step;
  }

  void take_history() {
    const RunLife& life = lives_.back();
    out_.state = state_of_life(life);
    out_.ended = life.ended;
    if (!life.error.empty()) out_.why = life.error.substr(0, life.error.find('\n'));
    const std::int64_t step = life.ended.empty() ? life.step : life.last_step;
    out_.step = std::max(out_.step.value_or(step), step);
  }

  std::span<const WatchedMetric> watched_;
  RunSummary out_;
  std::vector<RunLife> lives_;
  ReadLines lines_;
  std::string problem_;
};

}  // namespace

std::string_view name_of(RunState state) {
  switch (state) {
    case RunState::kTraining: return "training";
    case RunState::kEnded: return "ended";
    case RunState::kEndedEarly: return "ended early";
    case RunState::kPreempted: return "preempted";
    case RunState::kFailed: return "failed";
    case RunState::kUnfinished: return "unfinished";
    case RunState::kDamaged: return "damaged";
  }
  __builtin_unreachable();
}

bool is_like_run(const std::string& folder) {
  return std::ranges::any_of(kOfARun, [&](const char* name) { return holds(folder, name); });
}

RunSummary summarize_run(const std::string& folder, std::span<const WatchedMetric> metrics) {
  return Summary(folder, metrics).take();
}

FoundRuns find_runs(const std::string& folder, std::span<const WatchedMetric> metrics) {
  std::error_code error;
  LS_USER_CHECK(fs::exists(folder, error),
                "{}: there is no such folder; name the one that holds the "
                "runs, the run.dir of their config",
                folder);
  LS_USER_CHECK(!holds(folder, "config.yaml") && !holds(folder, "metrics.jsonl"),
                "{} is a run itself: name the folder that holds it", folder);
  fs::directory_iterator entries(folder, error);
  LS_USER_CHECK(!error, "{}: {}", folder, error.message());
  FoundRuns out;
  std::vector<std::string> folders;
  for (const fs::directory_entry& entry : entries) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.') || !entry.is_directory(error)) continue;
    // `lockstep rm` was killed meanwhile.
    const bool is_rest = name.ends_with(kRemoving);
    const bool is_run = !is_rest && is_like_run(entry.path().string());
    (is_run ? folders : out.others).push_back(name);
  }
  std::ranges::sort(folders);
  std::ranges::sort(out.others);
  out.runs.resize(folders.size());
  ThreadPool pool(
      static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads)));
  pool.parallel_for(static_cast<std::int64_t>(folders.size()), [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    out.runs[at] = summarize_run((fs::path(folder) / folders[at]).string(), metrics);
  });
  return out;
}

}  // namespace lockstep
