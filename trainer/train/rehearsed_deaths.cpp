#include "trainer/train/rehearsed_deaths.h"

#include <fmt/ranges.h>
#include <signal.h>

#include <algorithm>
#include <charconv>

#include "checkpoint/retention.h"
#include "core/base/error.h"
#include "core/runtime/device.h"
#include "core/virtual_time/virtual_clock.h"
#include "trainer/job/rank_runtime.h"

namespace lockstep {
namespace {

constexpr double kNsOfSecond = 1e9;

/// Of the clock's origin and the deaths that have been, as the master tells them.
std::string numbers_text(const std::vector<std::int64_t>& numbers) {
  return fmt::format("{}", fmt::join(numbers, " "));
}

std::vector<std::int64_t> numbers_of(const std::string& text) {
  std::vector<std::int64_t> out;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    std::int64_t number = 0;
    at = std::from_chars(at, end, number).ptr + 1;
    out.push_back(number);
  }
  return out;
}

}  // namespace

RehearsedDeaths::RehearsedDeaths(RankRuntime& runtime, const RunSpec& spec, std::int64_t first_step)
    : runtime_(runtime) {
  VirtualClock* const clock = runtime.device().virtual_clock();
  if (clock == nullptr || clock->options().disturbances.deaths.empty()) return;
  clock_ = clock;
  if (!spec.folder)
    raise(ErrorKind::kUsage,
          "device.simulate: deaths are rehearsed by runs with a folder (TrainerOptions::run)");
  folder_ = *spec.folder;
  deaths_ = clock->options().disturbances.deaths;
  std::vector<std::int64_t> told;  // the origin, then rank and step of each death
  if (runtime.is_master()) {
    events_ = read_job_events(folder_.path);
    told.push_back(origin_of(events_));
    for (const JobEvent& event : events_)
      if (event.kind == JobEvent::Kind::kDied) {
        told.push_back(event.rank);
        told.push_back(event.step);
      }
  }
  told = numbers_of(runtime.communicator().exchange("virtual time", numbers_text(told))[0]);
  origin_ns_ = told.at(0);
  for (std::size_t i = 1; i + 1 < told.size(); i += 2)
    std::erase(deaths_, Death{static_cast<int>(told[i]), told[i + 1]});
  clock->set_origin(origin_ns_);
  if (!events_.empty())
    runtime.log().info("virtual time goes on at {:.6g} s: see {}",
                       static_cast<double>(origin_ns_) / kNsOfSecond,
                       virtual_journal_path(folder_.path));
  if (runtime.is_master())
    add({.kind = JobEvent::Kind::kBegan, .step = first_step, .at_ns = origin_ns_});
}

std::int64_t RehearsedDeaths::now_ns() const {
  return origin_ns_ + clock_->end_of_last_ns();
}

/// When the job trains on behind these events.
std::int64_t RehearsedDeaths::origin_of(const std::vector<JobEvent>& events) const {
  if (events.empty()) return 0;
  std::int64_t out = events.back().at_ns;
  const Disturbances& disturbances = clock_->options().disturbances;
  if (events.back().kind == JobEvent::Kind::kDied)
    out += to_ns(disturbances.detection_s + disturbances.restart_s);
  return out;
}

bool RehearsedDeaths::is_due(std::int64_t step) const {
  return std::ranges::find(deaths_, step, &Death::step) != deaths_.end();
}

void RehearsedDeaths::die(std::int64_t step) {
  Communicator& communicator = runtime_.communicator();
  const std::vector<std::string> times =
      communicator.exchange("rehearsed death", fmt::format("{}", now_ns()));
  if (runtime_.is_master()) {
    std::int64_t at_ns = now_ns();
    for (const Death& death : deaths_)
      if (death.step == step)
        at_ns = std::min(at_ns, numbers_of(times.at(static_cast<std::size_t>(death.rank))).at(0));
    note_deaths(step, at_ns);
  }
  communicator.exchange("rehearsed death is noted", "");
  for (const Death& death : deaths_)
    if (death.step == step && death.rank == communicator.rank()) {
      runtime_.log().warn("device.simulate: rank {} dies before step {}", death.rank, step);
      ::raise(SIGKILL);
    }
  std::erase_if(deaths_, [&](const Death& death) { return death.step == step; });
}

/// On the master.
void RehearsedDeaths::note_deaths(std::int64_t step, std::int64_t at_ns) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(events_, [&](const JobEvent& event) {
      return event.kind == JobEvent::Kind::kSaved && event.at_ns > at_ns;
    });
  }
  std::int64_t saved = -1;
  for (const JobEvent& event : events_)
    if (event.kind == JobEvent::Kind::kSaved) saved = std::max(saved, event.step);
  for (const std::string& path : set_aside_after(folder_.checkpoints, saved, runtime_.log()))
    runtime_.log().info("not written by the time of the death: set aside {}", path);
  for (const Death& death : deaths_)
    if (death.step == step)
      add({.kind = JobEvent::Kind::kDied, .step = step, .at_ns = at_ns, .rank = death.rank});
}

void RehearsedDeaths::add_save(std::int64_t step, double seconds) {
  if (clock_ == nullptr) return;
  const VirtualCopy copy = clock_->last_copy();
  add({.kind = JobEvent::Kind::kSaved,
       .step = step,
       .at_ns = origin_ns_ + copy.end_ns + clock_->save_ns(seconds),
       .state_ns = origin_ns_ + copy.begin_ns,
       .pause_ns = copy.end_ns - copy.begin_ns});
}

void RehearsedDeaths::add(const JobEvent& event) {
  const std::lock_guard lock(mutex_);
  events_.push_back(event);
  write_job_events(folder_.path, events_);
}

void RehearsedDeaths::end(std::int64_t step) {
  if (clock_ == nullptr) return;
  for (const Death& death : deaths_)
    runtime_.log().warn(
        "device.simulate: rank {} was to die before step {}, and the run ended after step {}",
        death.rank, death.step, step);
  if (!runtime_.is_master()) return;
  add({.kind = JobEvent::Kind::kEnded, .step = step, .at_ns = now_ns()});
  if (const JobTimes times = times_of(events_); times.deaths > 0)
    runtime_.log().info("{}", to_text(times));
}

}  // namespace lockstep
