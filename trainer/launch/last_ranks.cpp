#include "trainer/launch/last_ranks.h"

#include <fmt/format.h>

#include <algorithm>

#include "trainer/launch/job_remains.h"
#include "trainer/launch/mpirun_daemons.h"
#include "watch/job_identity.h"
#include "watch/page_file.h"

namespace lockstep {
namespace {

bool runs_elsewhere(const RankReport& report) {
  return !report.exit_code && !is_halted(report.state) && report.state != ProcessState::kUnknown;
}

void add_sentence(std::string& text, const std::string& sentence) {
  text += fmt::format("{}{}", text.empty() ? "" : "; ", sentence);
}

/// Its page is read only if it is stopped, since only then the report uses it.
RankReport report_of(pid_t pid, const JobIdentity& identity) {
  RankReport out;
  const ProcessState state = process_state(pid);
  if (is_halted(state))
    if (const MappedPages pages = open_pages_of(pid)) out = read_page(pages.activity());
  out.rank = identity.rank;
  out.host = host_name();
  out.pid = pid;
  out.state = state;
  return out;
}

}  // namespace

Judgement LastRanks::judge(std::int64_t now_ns, const RanksInSight& ranks) {
  now_ns_ = now_ns;
  remember(ranks);
  if (!ranks.here.empty()) return judge_stopped(ranks);
  const bool has_started = !seen_here_.empty();
  if (!has_started || seconds_since(ran_ns_) <= kMpirunPatience) return {};
  return {.warnings = {},
          .fatal = fmt::format("the ranks of this host have ended, but mpirun has not: {}",
                               describe_missing(ranks))};
}

void LastRanks::remember(const RanksInSight& ranks) {
  const bool suspended = looked_ns_ < 0 || seconds_since(looked_ns_) > Judge::kSuspended;
  looked_ns_ = now_ns_;
  size_ = std::max(size_, ranks.size);
  if (suspended) {
    ran_ns_ = now_ns_;
    stopped_ns_.clear();
  }
  for (const RankReport& report : ranks.here) {
    seen_here_.insert(report.rank);
    if (is_halted(report.state)) {
      stopped_ns_.try_emplace(report.rank, now_ns_);
    } else {
      stopped_ns_.erase(report.rank);
      ran_ns_ = now_ns_;
    }
  }
  for (const RankReport& report : ranks.elsewhere) {
    if (seen_here_.contains(report.rank)) continue;  // this host's own reports are more recent
    const auto age_ns = static_cast<std::int64_t>(report.age_s * 1e9);
    if (runs_elsewhere(report)) ran_ns_ = std::max(ran_ns_, now_ns_ - age_ns);
  }
}

double LastRanks::seconds_since(std::int64_t ns) const {
  return static_cast<double>(now_ns_ - ns) * 1e-9;
}

Judgement LastRanks::judge_stopped(const RanksInSight& ranks) {
  // Ranks that run elsewhere send a report within this time.
  if (seconds_since(ran_ns_) <= OtherNodes::kPatience) return {};
  if (static_cast<int>(ranks.here.size()) == size_) return {};
  double seconds = 0;
  std::string sentence;
  for (const RankReport& report : ranks.here) {
    const double stopped = seconds_since(stopped_ns_.at(report.rank));
    seconds = std::max(seconds, stopped);
    add_sentence(sentence, fmt::format("{} is {}, {}, for {:.0f} s", describe_rank(report),
                                       name_of(report.state), describe_place(report), stopped));
  }
  sentence += ", and no other rank of the job runs";
  if (seconds > limits_.abort_s) return {.warnings = {}, .fatal = sentence};
  if (warned_ || seconds <= limits_.warn_s) return {};
  warned_ = true;
  return {.warnings = {fmt::format("{}; the job ends after {:g} s (distributed.stall_abort_s)",
                                   sentence, limits_.abort_s)},
          .fatal = ""};
}

std::string LastRanks::describe_missing(const RanksInSight& ranks) const {
  std::string out;
  std::string ending;
  std::set<int> seen = seen_here_;
  for (const RankReport& report : ranks.elsewhere) {
    if (!seen.insert(report.rank).second) continue;
    if (report.exit_code)
      add_sentence(ending, fmt::format("{}, which was about to end with code {}, {:.0f} s ago",
                                       describe_rank(report), *report.exit_code, report.age_s));
    else
      add_sentence(out, fmt::format("{} is out of sight, {}, for {:.0f} s", describe_rank(report),
                                    describe_place(report), report.age_s));
  }
  std::vector<int> unseen;
  for (int rank = 0; rank < size_; ++rank)
    if (!seen.contains(rank)) unseen.push_back(rank);
  if (!unseen.empty())
    add_sentence(
        out, fmt::format(
                 "it waits for {}, which cannot be seen from {}{}", list_ranks(unseen), host_name(),
                 other_hosts_.empty()
                     ? ""
                     : fmt::format(" (other hosts of the job: {})", list_hosts(other_hosts_))));
  if (!out.empty()) return out;
  return fmt::format("it waits for {}, or for itself",
                     ending.empty() ? "a host that does not answer" : ending);
}

RanksInSight look_at_ranks(pid_t mpirun, std::int64_t now_ns, OtherNodes& others) {
  RanksInSight out;
  for (const pid_t pid : ranks_of(mpirun)) {
    const auto identity = job_identity_of(pid);
    if (!identity) continue;  // it has just ended
    out.size = identity->size;
    out.here.push_back(report_of(pid, *identity));
  }
  out.elsewhere = others.read(now_ns);
  return out;
}

}  // namespace lockstep
