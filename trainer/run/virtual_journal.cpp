#include "trainer/run/virtual_journal.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/atomic_file.h"
#include "core/base/duration.h"
#include "core/base/error.h"
#include "core/base/json_place.h"

namespace lockstep {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* kJournalFormat = "lockstep virtual time";
constexpr int kJournalVersion = 1;
constexpr std::int64_t kMaxNs = std::numeric_limits<std::int64_t>::max() / 4;
constexpr std::array kEventKinds{JobEvent::Kind::kBegan, JobEvent::Kind::kSaved,
                                 JobEvent::Kind::kDied, JobEvent::Kind::kEnded};

OrderedJson event_json(const JobEvent& event) {
  OrderedJson out{{"event", name_of(event.kind)}, {"step", event.step}};
  if (event.kind == JobEvent::Kind::kSaved) {
    out["state_ns"] = event.state_ns;
    out["pause_ns"] = event.pause_ns;
  }
  if (event.kind == JobEvent::Kind::kDied) out["rank"] = event.rank;
  out["at_ns"] = event.at_ns;
  return out;
}

JobEvent event_of(const JsonPlace& json) {
  JobEvent out;
  const std::string name = json.at("event").string();
  const auto* const kind = std::ranges::find(kEventKinds, name, [](auto k) { return name_of(k); });
  LS_USER_CHECK(kind != kEventKinds.end(), "there is no event '{}'", name);
  out.kind = *kind;
  out.step = json.at("step").integer(0, kMaxNs);
  out.at_ns = json.at("at_ns").integer(0, kMaxNs);
  if (out.kind == JobEvent::Kind::kSaved) {
    out.state_ns = json.at("state_ns").integer(0, kMaxNs);
    out.pause_ns = json.at("pause_ns").integer(0, kMaxNs);
  }
  if (out.kind == JobEvent::Kind::kDied) out.rank = json.at("rank").number();
  return out;
}

/// The newest state of this step that was saved before a life began at it.
const JobEvent* save_of(const std::vector<JobEvent>& events, std::size_t before,
                        std::int64_t step) {
  for (std::size_t i = before; i-- > 0;)
    if (events[i].kind == JobEvent::Kind::kSaved && events[i].step == step) return &events[i];
  return nullptr;
}

/// Adds the time from one begin to the death or the end; what is kept of it lasts until `kept_ns`.
void add_life(const std::vector<JobEvent>& events, std::size_t first, std::size_t last,
              std::int64_t kept_ns, JobTimes& to) {
  const std::int64_t begin = events[first].at_ns;
  kept_ns = std::clamp(kept_ns, begin, events[last].at_ns);
  std::int64_t pauses = 0;
  for (std::size_t i = first; i < last; ++i)
    if (events[i].kind == JobEvent::Kind::kSaved && events[i].state_ns < kept_ns)
      pauses += events[i].pause_ns;
  pauses = std::min(pauses, kept_ns - begin);
  to.saves_ns += pauses;
  to.kept_ns += kept_ns - begin - pauses;
  to.again_ns += events[last].at_ns - kept_ns;
}

}  // namespace

std::string_view name_of(JobEvent::Kind kind) {
  switch (kind) {
    case JobEvent::Kind::kBegan: return "began";
    case JobEvent::Kind::kSaved: return "saved";
    case JobEvent::Kind::kDied: return "died";
    case JobEvent::Kind::kEnded: return "ended";
  }
  __builtin_unreachable();
}

std::string virtual_journal_path(const std::string& run_folder) {
  return (std::filesystem::path(run_folder) / "virtual_time.json").string();
}

std::vector<JobEvent> read_job_events(const std::string& run_folder) {
  const std::string path = virtual_journal_path(run_folder);
  std::vector<JobEvent> out;
  if (!std::filesystem::exists(path)) return out;
  const JsonPlace json = JsonPlace::read(path, ErrorKind::kUsage);
  LS_USER_CHECK(json.string_or("format", "") == kJournalFormat, "{} is no journal of virtual time",
                path);
  LS_USER_CHECK(json.at("version").number() == kJournalVersion, "{}: this version is not supported",
                path);
  for (const JsonPlace& event : json.at("events").elements()) out.push_back(event_of(event));
  return out;
}

void write_job_events(const std::string& run_folder, const std::vector<JobEvent>& events) {
  OrderedJson out{
      {"format", kJournalFormat}, {"version", kJournalVersion}, {"events", OrderedJson::array()}};
  for (const JobEvent& event : events) out["events"].push_back(event_json(event));
  write_file(virtual_journal_path(run_folder), out.dump(1) + "\n", ErrorKind::kUsage);
}

JobTimes times_of(const std::vector<JobEvent>& events) {
  JobTimes out;
  std::size_t first = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const JobEvent& event = events[i];
    if (event.kind == JobEvent::Kind::kBegan) first = i;
    if (event.kind == JobEvent::Kind::kEnded) add_life(events, first, i, event.at_ns, out);
    if (event.kind != JobEvent::Kind::kDied) continue;
    ++out.deaths;
    const auto next = std::ranges::find_if(
        events.begin() + static_cast<std::ptrdiff_t>(i), events.end(),
        [](const JobEvent& each) { return each.kind == JobEvent::Kind::kBegan; });
    if (next == events.end()) continue;
    const JobEvent* const save = save_of(events, i, next->step);
    add_life(events, first, i, save == nullptr ? events[first].at_ns : save->state_ns, out);
    out.down_ns += next->at_ns - event.at_ns;
  }
  out.total_ns = out.kept_ns + out.saves_ns + out.again_ns + out.down_ns;
  return out;
}

std::string to_text(const JobTimes& times) {
  const auto percent = [&](std::int64_t ns) {
    return times.total_ns > 0 ? 100 * static_cast<double>(ns) / static_cast<double>(times.total_ns)
                              : 0;
  };
  return fmt::format(
      "virtual time of the job, with {} death{}: {}; steps that were kept {:.1f} % (goodput), "
      "pauses for saves {:.1f} %, steps done again {:.1f} %, detection and restart {:.1f} %",
      times.deaths, times.deaths == 1 ? "" : "s",
      readable_time(static_cast<double>(times.total_ns) * 1e-9), percent(times.kept_ns),
      percent(times.saves_ns), percent(times.again_ns), percent(times.down_ns));
}

}  // namespace lockstep
