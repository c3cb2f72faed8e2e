#include "watch/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lockstep {
namespace {

constexpr double kBeatPatience = 10;  // seconds; a watch beats every second, or more often

/// Phases in which the loop itself waits for this rank's work: a rank that makes no progress in one
/// is stuck even if no other rank waits for it. In the others progress is not counted everywhere,
/// and they belong to commands that are not judged.
bool is_of_the_loop(Phase phase) {
  switch (phase) {
    case Phase::kInputWait:
    case Phase::kTrace:
    case Phase::kCompile:
    case Phase::kRead:
    case Phase::kDeviceWait:
    case Phase::kForward:
    case Phase::kReduce:
    case Phase::kUpdate:
    case Phase::kEvaluate:
    case Phase::kSnapshot:
    case Phase::kWrite:
    case Phase::kGenerate: return true;
    case Phase::kStart:
    case Phase::kConfig:
    case Phase::kData:
    case Phase::kConnect:
    case Phase::kAgree:
    case Phase::kPrepare:
    case Phase::kProgram:
    case Phase::kFinish:
    case Phase::kGoodbye:
    case Phase::kDisconnect:
    case Phase::kExit:
    case Phase::kIdle: return false;
  }
  return false;
}

double seconds_between(std::int64_t from_ns, std::int64_t to_ns) {
  return static_cast<double>(to_ns - from_ns) / 1e9;
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string out;
  for (const std::string& word : words)
    out += fmt::format("{}{}", out.empty() ? "" : between, word);
  return out;
}

/// "ranks 0 1 3 wait", "rank 0 waits"
std::string list_waiting(const std::vector<const RankReport*>& ranks) {
  std::vector<int> numbers;
  numbers.reserve(ranks.size());
  for (const RankReport* report : ranks) numbers.push_back(report->rank);
  return list_ranks(numbers) + (ranks.size() == 1 ? " waits" : " wait");
}

bool is_present(const RankReport& report) {
  return !report.exit_code && report.state != ProcessState::kGone;
}

bool saves(const RankReport& report) {
  return report.host_lane.phase == Phase::kSnapshot || report.host_lane.phase == Phase::kWrite;
}

/// It waits for the process that compiles the same step, which may be another rank.
bool waits_for_a_compilation(const RankReport& report) {
  return report.host_lane.phase == Phase::kCompile && !report.foreign_calls.empty();
}

bool compiles(const RankReport& report) {
  return report.host_lane.phase == Phase::kCompile && report.foreign_calls.empty() &&
         is_present(report);
}

/// A rank that ends waits for those of its own node, until they have left.
bool is_done_with(const RankReport& waiter, const RankReport& report) {
  if (waiter.host_lane.phase != Phase::kExit) return false;
  const bool has_left = report.exit_code && report.state == ProcessState::kGone;
  return has_left || waiter.host != report.host;
}

std::string describe_wait(const RankReport& waiter) {
  if (!waiter.waits_for_peers) return describe_place(waiter);
  const std::string step =
      waiter.peer_step >= 0 ? fmt::format(" at step {}", waiter.peer_step) : std::string();
  return fmt::format("in {}{}", waiter.peer_wait, step);
}

}  // namespace

Judgement Judge::judge(std::int64_t now_ns, const Scene& scene) {
  remember(now_ns, scene);
  Judgement out;
  std::vector<std::string> fatal;
  const std::vector<Fault> faults = find_faults(scene);
  bool lost = false;
  for (const Fault& fault : faults) {
    const std::string sentence =
        fmt::format("{} {}, {}, for {:.0f} s{}", describe_rank(*fault.rank), fault.what,
                    describe_place(*fault.rank), fault.seconds, waiters_of(*fault.rank, scene));
    if (fault.seconds > fault.limit) fatal.push_back(sentence);
    bool& warned = memory_[fault.rank->rank].warned;
    if (warned || fault.seconds <= std::min(limits_.warn_s, fault.limit)) continue;
    warned = true;
    out.warnings.push_back(
        fmt::format("{}; the job ends after {:g} s ({})", sentence, fault.limit, fault.key));
  }
  out.fatal = joined(fatal, "; also ");
  for (const RankReport& report : scene.ranks) {
    if (report.state != ProcessState::kGone || report.exit_code) continue;
    const double seconds = seconds_between(memory_[report.rank].gone_ns, now_ns_);
    const std::string sentence = fmt::format("{} is gone, {}{}", describe_rank(report),
                                             describe_place(report), waiters_of(report, scene));
    // Losses after the first one are its consequences.
    if (!lost_reported_) out.warnings.push_back(sentence);
    lost_reported_ = lost = true;
    if (seconds > kLostGrace && out.fatal.empty()) out.fatal = sentence;
  }
  if (faults.empty() && !lost) judge_deadlock(scene, out);
  return out;
}

void Judge::remember(std::int64_t now_ns, const Scene& scene) {
  const bool suspended =
      (last_look_ns_ >= 0 && seconds_between(last_look_ns_, now_ns) > kSuspended) ||
      std::exchange(starts_anew_, false);
  now_ns_ = last_look_ns_ = now_ns;
  for (const RankReport& report : scene.ranks) {
    const auto [at, is_new] = memory_.try_emplace(report.rank);
    Memory& memory = at->second;
    const bool other = memory.pid != report.pid;  // a wrapper became the rank
    if (is_new || other) memory = Memory{.pid = report.pid};
    if (is_new || other || suspended || memory.progress != report.progress) {
      memory.moved_ns = now_ns;
      memory.warned = false;
    }
    if (is_new || other || suspended || memory.beat != report.beat) memory.beat_ns = now_ns;
    if (report.state == ProcessState::kGone && memory.gone_ns < 0) memory.gone_ns = now_ns;
    memory.progress = report.progress;
    memory.beat = report.beat;
  }
  // A rank that waits for a compilation makes progress if the rank that compiles does.
  for (const RankReport& report : scene.ranks) {
    if (!waits_for_a_compilation(report)) continue;
    std::int64_t& moved_ns = memory_[report.rank].moved_ns;
    for (const RankReport& other : scene.ranks)
      if (compiles(other)) moved_ns = std::max(moved_ns, memory_[other.rank].moved_ns);
  }
}

Judge::Limit Judge::limit_of(const RankReport& report, bool foreign) const {
  const Limit usual = foreign ? Limit{limits_.foreign_abort_s, "distributed.foreign_call_abort_s"}
                              : Limit{limits_.abort_s, "distributed.stall_abort_s"};
  const double stopping = foreign ? kStoppingForeign : kStopping;
  if (!is_stopping_ || saves(report) || usual.seconds <= stopping) return usual;
  return {stopping, "it was asked to stop"};
}

double Judge::idle(const RankReport& report) const {
  return seconds_between(memory_.at(report.rank).moved_ns, now_ns_) - report.age_s;
}

double Judge::silence(const RankReport& report) const {
  if (report.beat == 0) return 0;
  return seconds_between(memory_.at(report.rank).beat_ns, now_ns_) - report.age_s;
}

bool Judge::is_frozen(const RankReport& report) const {
  return silence(report) > std::min(kBeatPatience, limits_.abort_s);
}

std::vector<const RankReport*> Judge::waiters_for(const RankReport& report,
                                                  const Scene& scene) const {
  std::vector<const RankReport*> out;
  const bool holds_all =
      is_halted(report.state) || report.state == ProcessState::kUnknown || is_frozen(report);
  for (const RankReport& other : scene.ranks) {
    const bool waits = (other.waits_for_peers && !is_done_with(other, report)) ||
                       (holds_all && waits_for_a_compilation(other));
    const bool is_seen = !is_halted(other.state) && other.state != ProcessState::kUnknown;
    if (other.rank != report.rank && waits && is_present(other) && is_seen) out.push_back(&other);
  }
  return out;
}

std::string Judge::waiters_of(const RankReport& report, const Scene& scene) const {
  const auto waiters = waiters_for(report, scene);
  if (waiters.empty()) return "";
  return fmt::format("; {} for it {}", list_waiting(waiters), describe_wait(*waiters[0]));
}

std::vector<Judge::Fault> Judge::find_faults(const Scene& scene) const {
  std::vector<Fault> out;
  for (const RankReport& report : scene.ranks) {
    const bool gone = report.state == ProcessState::kGone;
    if (gone && !report.exit_code) continue;  // lost
    const bool awaited = !waiters_for(report, scene).empty();
    const Limit usual = limit_of(report, false);
    Fault fault{&report, idle(report), usual.seconds, "", usual.key};
    if (is_halted(report.state) && !gone) {  // perhaps ending, with a code already
      fault.what = fmt::format("is {}", name_of(report.state));
      if (!awaited) continue;
    } else if (report.exit_code) {
      fault.what = fmt::format("has left with code {}", *report.exit_code);
      if (!awaited) continue;
    } else if (report.state == ProcessState::kUnknown) {
      fault.what = "is out of sight: its node sends no reports";
      fault.seconds = report.age_s;
      if (!awaited) continue;
    } else if (is_frozen(report)) {
      fault.what = "is frozen: none of its threads runs";
      if (!awaited) continue;
    } else if (report.waits_for_peers) {
      continue;
    } else {
      const bool judged = is_of_the_loop(report.host_lane.phase) ||
                          (is_stopping_ && report.host_lane.phase == Phase::kProgram);
      if (!awaited && !judged) continue;
      fault.what = "makes no progress";
      if (report.state == ProcessState::kDiskWait)
        fault.what = fmt::format("is {}", name_of(report.state));
      const Phase phase = report.host_lane.phase;
      const bool loading = phase == Phase::kStart || phase == Phase::kConfig;
      if (!report.foreign_calls.empty())
        fault.what += fmt::format(" (in {})", joined(report.foreign_calls, ", "));
      if (loading || !report.foreign_calls.empty()) {
        const Limit foreign = limit_of(report, true);
        fault.limit = foreign.seconds;
        fault.key = foreign.key;
      }
    }
    out.push_back(std::move(fault));
  }
  return out;
}

// All visible ranks wait for each other, or for ranks that cannot be seen.
void Judge::judge_deadlock(const Scene& scene, Judgement& out) {
  double seconds = limits_.foreign_abort_s * 2;
  bool foreign = true;  // all of them in MPI_Init
  std::vector<const RankReport*> waiting;
  for (const RankReport& report : scene.ranks) {
    if (!is_present(report)) continue;
    if (!report.waits_for_peers) return;
    waiting.push_back(&report);
    seconds = std::min(seconds, idle(report));
    foreign = foreign && report.host_lane.phase == Phase::kConnect;
  }
  if (waiting.empty() || (!scene.unseen.empty() && scene.others_see_them)) return;
  if (seconds <= limits_.warn_s) warned_of_deadlock_ = false;
  const Limit limit = limit_of(*waiting[0], foreign);
  const std::string sentence = fmt::format(
      "no rank has made progress for {:.0f} s: {} {} {}", seconds, list_waiting(waiting),
      !scene.unseen.empty() ? fmt::format("for {}, which cannot be seen from {},",
                                          list_ranks(scene.unseen), waiting[0]->host)
                            : "for each other (messages are lost, or the network is cut)",
      describe_wait(*waiting[0]));
  if (seconds > limit.seconds) out.fatal = sentence;
  if (seconds <= limits_.warn_s || warned_of_deadlock_) return;
  warned_of_deadlock_ = true;
  out.warnings.push_back(
      fmt::format("{}; the job ends after {:g} s ({})", sentence, limit.seconds, limit.key));
}

}  // namespace lockstep
