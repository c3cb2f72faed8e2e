#include "trainer/sweep/run_sweep_points.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <list>
#include <memory>
#include <utility>

#include "core/base/clock.h"
#include "core/base/duration.h"
#include "core/base/error.h"
#include "trainer/launch/held_signals.h"
#include "trainer/launch/mpirun_job.h"
#include "trainer/machine/core_share.h"
#include "trainer/run/run_lock.h"
#include "trainer/runs/run_summary.h"
#include "trainer/runs/run_table.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kTellAgain{1};
constexpr std::chrono::seconds kSecondInterruptAfter{1};
constexpr std::size_t kErrorWidth = 300;
constexpr std::string_view kErrorMark = "lockstep: error: ";

/// The last error that a job printed, without its further lines.
std::string last_error(const std::string& file) {
  std::ifstream lines(file);
  std::string out;
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t at = line.find(kErrorMark); at != std::string::npos)
      out = line.substr(at + kErrorMark.size());
  return out.substr(0, kErrorWidth);
}

/// A job under way.
struct SweepJob {
  std::size_t point;
  std::unique_ptr<MpirunJob> job;
};

class SweepRunner {
 public:
  SweepRunner(const SweepJobs& jobs, SweepJournal& journal) : jobs_(jobs), journal_(journal) {
    fs::create_directories(fs::path(jobs.folder) / "output");
  }

  SweepEnd run() {
    settle_killed();
    for (int rung = 0; rung < static_cast<int>(journal_.rungs.size()); ++rung) {
      run_rung(rung);
      if (interrupted_at_once_) return SweepEnd::kInterrupted;
      if (stop_ns_) return SweepEnd::kStopped;
      if (is_waiting(rung)) return SweepEnd::kUnfinished;
      choose(rung);
    }
    return SweepEnd::kFinished;
  }

 private:
  std::string folder_of(const JournalPoint& point) const {
    return (fs::path(jobs_.folder) / point.name).string();
  }
  std::string output_of(const JournalPoint& point) const {
    return (fs::path(jobs_.folder) / "output" / (point.name + ".txt")).string();
  }
  std::int64_t steps_of(int rung) const {
    return journal_.rungs[static_cast<std::size_t>(rung)].steps;
  }
  bool is_last(int rung) const { return rung + 1 == static_cast<int>(journal_.rungs.size()); }
  void save() const { write_journal(jobs_.folder, journal_); }

  RunSummary look_at(const JournalPoint& point) const {
    const WatchedMetric metric{journal_.metric, journal_.larger_is_better};
    return summarize_run(folder_of(point), {&metric, 1});
  }

  /// Takes over what the point's run has measured.
  void take(JournalPoint& point, const RunSummary& summary) const {
    point.step = summary.step;
    point.last = summary.metrics[0].last;
    point.best = summary.metrics[0].best;
    point.best_step = summary.metrics[0].best_step;
    point.wall_seconds = summary.wall_seconds;
  }

  /// Points that a killed sweep was running wait again.
  void settle_killed() {
    for (JournalPoint& point : journal_.points)
      if (point.state == PointState::kRunning) point.state = PointState::kWaiting;
    save();
  }

  /// Whether the point's run has ended already, although the journal does not say so: the sweep was
  /// killed between the end of the run and the next entry, or before the run had ended.
  bool has_ended(JournalPoint& point, int rung) const {
    if (!is_like_run(folder_of(point))) return false;
    const RunSummary summary = look_at(point);
    const bool has_all = summary.state == RunState::kEnded &&
                         (steps_of(rung) == 0 || summary.step.value_or(0) >= steps_of(rung));
    if (!has_all && summary.state != RunState::kEndedEarly) return false;
    finish(point, summary);
    return true;
  }

  void finish(JournalPoint& point, const RunSummary& summary) const {
    take(point, summary);
    ++point.rungs;
    point.state = is_last(point.rungs - 1) ? PointState::kDone : PointState::kWaiting;
  }

  bool waits_in(const JournalPoint& point, int rung) const {
    return point.state == PointState::kWaiting && point.rungs == rung;
  }
  bool is_waiting(int rung) const {
    return std::ranges::any_of(journal_.points,
                               [&](const JournalPoint& point) { return waits_in(point, rung); });
  }

  void run_rung(int rung) {
    stopped_.clear();
    while (!interrupted_at_once_) {
      if (!stop_ns_) start_some(rung);
      if (running_.empty() && (stop_ns_ || !has_more(rung))) return;
      const int number = signals_.take();
      take_signal(number);
      collect();
    }
    for (SweepJob& each : running_) each.job->send(SIGINT);  // end() waits for one of them
    for (SweepJob& each : running_) each.job->end();
    running_.clear();
  }

  /// Whether a point waits that nobody else stopped.
  bool has_more(int rung) const {
    for (std::size_t i = 0; i < journal_.points.size(); ++i)
      if (waits_in(journal_.points[i], rung) && !was_stopped(i)) return true;
    return false;
  }
  bool was_stopped(std::size_t point) const {
    return std::ranges::find(stopped_, point) != stopped_.end();
  }

  void start_some(int rung) {
    for (std::size_t i = 0; i < journal_.points.size(); ++i) {
      if (static_cast<int>(running_.size()) >= jobs_.at_once) return;
      JournalPoint& point = journal_.points[i];
      if (!waits_in(point, rung) || was_stopped(i)) continue;
      // A job of a sweep that was killed still saves.
      std::error_code error;
      if (fs::exists(folder_of(point), error) && is_locked(folder_of(point))) {
        if (std::exchange(told_lock_, folder_of(point)) != folder_of(point))
          jobs_.say(fmt::format("{} is still written to by {}", point.name,
                                describe_lock_holder(folder_of(point))));
        continue;
      }
      if (has_ended(point, rung)) {
        save();
        tell_end(point, 0);
        continue;
      }
      point.state = PointState::kRunning;
      save();
      running_.push_back(
          {i, std::make_unique<MpirunJob>(words_of(point, rung), true, output_of(point))});
      jobs_.say(fmt::format("{} begins{}", point.name,
                            steps_of(rung) > 0 ? fmt::format(", to step {}", steps_of(rung)) : ""));
    }
  }

  std::vector<std::string> words_of(const JournalPoint& point, int rung) const {
    std::vector<std::string> out{fs::read_symlink("/proc/self/exe").string()};
    if (jobs_.ranks > 1) {
      const std::vector<std::string> launch{"launch", "-n", std::to_string(jobs_.ranks), "--"};
      out.insert(out.end(), launch.begin(), launch.end());
    }
    out.insert(out.end(), {"train", jobs_.config});
    out.insert(out.end(), point.overrides.begin(), point.overrides.end());
    if (steps_of(rung) > 0) out.push_back(fmt::format("training.max_steps={}", steps_of(rung)));
    if (jobs_.threads > 0) out.push_back(fmt::format("device.threads={}", jobs_.threads));
    out.push_back("run.dir=" + jobs_.folder);
    out.push_back("run.name=" + point.name);
    out.emplace_back("--resume");
    return out;
  }

  void collect() {
    for (auto each = running_.begin(); each != running_.end();) {
      const std::optional<int> code = each->job->poll();
      if (!code) {
        ++each;
        continue;
      }
      ended(each->point, *code);
      each = running_.erase(each);
    }
  }

  void ended(std::size_t index, int code) {
    JournalPoint& point = journal_.points[index];
    const std::string folder = folder_of(point);
    if (code == 0) {
      finish(point, look_at(point));
    } else if (code == static_cast<int>(ErrorKind::kPreempted) || stop_ns_) {
      point.state = PointState::kWaiting;
      stopped_.push_back(index);
    } else {
      point.state = PointState::kFailed;
      point.code = code;
      point.error = last_error(output_of(point));
      if (is_like_run(folder)) take(point, look_at(point));
    }
    save();
    tell_end(point, code);
  }

  void tell_end(const JournalPoint& point, int code) const {
    const auto ended = std::ranges::count_if(journal_.points, [](const JournalPoint& each) {
      return each.state != PointState::kWaiting && each.state != PointState::kRunning;
    });
    std::string text = fmt::format("[{}/{}] {}: ", ended, journal_.points.size(), point.name);
    if (point.state == PointState::kFailed)
      text += fmt::format("failed with code {}: {}; {}", code,
                          point.error.empty() ? "it said nothing" : point.error, output_of(point));
    else if (code != 0)
      text += "stopped";
    else
      text += fmt::format("{} {} at step {} ({})", journal_.metric,
                          point.last ? metric_text(point.last) : "was not measured",
                          point.step.value_or(0), format_time(point.wall_seconds));
    jobs_.say(text);
  }

  void take_signal(int number) {
    const std::int64_t now_ns = clock_.now_ns();
    const auto since = [&](std::int64_t begin) { return std::chrono::nanoseconds(now_ns - begin); };
    if (number == SIGINT && interrupt_ns_ && since(*interrupt_ns_) >= kSecondInterruptAfter)
      interrupted_at_once_ = true;
    if (number == SIGINT && !interrupt_ns_) interrupt_ns_ = now_ns;
    if (number != 0 && number != SIGCHLD && !stop_ns_) {
      stop_ns_ = now_ns;
      if (!running_.empty()) jobs_.say("asked to stop: the runs save and end");
    }
    if (!stop_ns_ || (told_ns_ && since(*told_ns_) < kTellAgain)) return;
    for (SweepJob& each : running_) each.job->send(SIGUSR1);
    told_ns_ = now_ns;
  }

  /// After a rung that is not the last: the best points go on, the others are left out.
  void choose(int rung) {
    if (is_last(rung)) return;
    std::vector<JournalPoint*> left;
    for (JournalPoint& point : journal_.points)
      if (waits_in(point, rung + 1)) left.push_back(&point);
    if (left.empty()) return;
    LS_USER_CHECK(
        std::ranges::any_of(left, [](const auto* point) { return point->best.has_value(); }),
        "no point has measured {}: choose a --metric that their metrics.jsonl have",
        journal_.metric);
    std::ranges::stable_sort(left, [&](const JournalPoint* a, const JournalPoint* b) {
      if (!a->best || !b->best) return a->best.has_value() && !b->best.has_value();
      return journal_.larger_is_better ? *a->best > *b->best : *a->best < *b->best;
    });
    const auto kept = static_cast<std::size_t>(journal_.rungs[static_cast<std::size_t>(rung)].kept);
    for (std::size_t i = kept; i < left.size(); ++i) left[i]->state = PointState::kLeft;
    jobs_.say(fmt::format("rung {}: {} of {} points go on to step {}", rung + 1,
                          std::min(kept, left.size()), left.size(), steps_of(rung + 1)));
    save();
  }

  const SweepJobs& jobs_;
  SweepJournal& journal_;
  HeldSignals signals_;
  SteadyClock clock_;
  std::list<SweepJob> running_;
  std::vector<std::size_t> stopped_;  ///< points that were stopped, in this rung
  std::string told_lock_;             ///< the folder that was last said to be locked
  std::optional<std::int64_t> stop_ns_, interrupt_ns_, told_ns_;
  bool interrupted_at_once_ = false;
};

}  // namespace

SweepEnd run_sweep_points(const SweepJobs& jobs, SweepJournal& journal) {
  return SweepRunner(jobs, journal).run();
}

int threads_for(int at_once, int ranks) {
  const std::vector<RankCores> all(
      static_cast<std::size_t>(at_once) * static_cast<std::size_t>(ranks), own_cores());
  return share_of(0, all, processor_places()).threads;
}

}  // namespace lockstep
