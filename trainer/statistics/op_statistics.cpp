#include "trainer/statistics/op_statistics.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

namespace lockstep {
namespace {

constexpr const char* kWaitForBuckets = "all-reduce";

double own_work_ms(const RankProfile& profile) {
  double out = profile.mean_step_ms;
  for (const LedgerRow& row : profile.rows)
    if (row.work == kWaitForBuckets) out -= row.ms;
  return out;
}

}  // namespace

TimeShare share_of(const LedgerRow& row) {
  const auto is_one_of = [&](std::initializer_list<const char*> works) {
    return std::ranges::find(works, row.work) != works.end();
  };
  if (is_one_of({"gradient sums", kWaitForBuckets, "collective"})) return TimeShare::kAllReduce;
  if (is_one_of({"idle", "inputs", "dispatch", "host call"})) return TimeShare::kHost;
  if (is_one_of({"checkpoint", "evaluation", "value reads"})) return TimeShare::kPauses;
  if (row.is_bundle() || is_one_of({"copies", "state check"})) return TimeShare::kDevice;
  return TimeShare::kOther;
}

double OpStatistics::skew() const {
  return mean.ms > 0 ? rank_ms[slowest()] / mean.ms - 1 : 0;
}

std::size_t OpStatistics::slowest() const {
  return static_cast<std::size_t>(std::ranges::max_element(rank_ms) - rank_ms.begin());
}

std::optional<double> OpStatistics::of_limit() const {
  if (mean.lower_bound_ms <= 0 || mean.ms <= 0) return std::nullopt;
  return mean.lower_bound_ms / mean.ms;
}

std::optional<double> OpStatistics::of_virtual_limit() const {
  if (mean.virtual_lower_bound_ms <= 0 || mean.virtual_ms <= 0) return std::nullopt;
  return mean.virtual_lower_bound_ms / mean.virtual_ms;
}

std::vector<OpStatistics> op_statistics(const std::vector<RankProfile>& profiles, GroupBy by) {
  std::vector<OpStatistics> out;
  std::map<decltype(group_key({}, by)), std::size_t> index;
  for (std::size_t r = 0; r < profiles.size(); ++r)
    for (const LedgerRow& row : group_rows(profiles[r].rows, by)) {
      const auto [place, is_new] = index.try_emplace(group_key(row, by), out.size());
      if (is_new) {
        OpStatistics& fresh = out.emplace_back();
        fresh.mean = row;
        fresh.rank_ms.resize(profiles.size());
      } else {
        add_amounts(row, out[place->second].mean);
      }
      out[place->second].rank_ms[r] = row.ms;
    }
  for (OpStatistics& each : out) scale_amounts(each.mean, 1 / static_cast<double>(profiles.size()));
  std::ranges::stable_sort(out, std::greater(),
                           [](const OpStatistics& each) { return each.mean.ms; });
  return out;
}

StepShares step_shares(const std::vector<RankProfile>& profiles) {
  StepShares out;
  for (const OpStatistics& each : op_statistics(profiles, GroupBy::kClass)) {
    const LedgerRow& row = each.mean;
    out.ms[static_cast<std::size_t>(share_of(row))] += row.ms;
    out.fused_ms += row.fused_ms;
    if (!each.of_limit() || share_of(row) != TimeShare::kDevice) continue;
    out.bundled_ms += row.ms;
    out.lower_bound_ms += row.lower_bound_ms;
  }
  return out;
}

double mean_step_ms(const std::vector<RankProfile>& profiles) {
  double out = 0;
  for (const RankProfile& profile : profiles) out += profile.mean_step_ms;
  return out / static_cast<double>(std::max<std::size_t>(profiles.size(), 1));
}

double part_ms(const RankProfile& profile, std::string_view work) {
  double out = 0;
  for (const LedgerRow& row : profile.rows)
    if (!row.is_bundle() && row.work == work) out += row.ms;
  return out;
}

std::optional<CoreWaitOfRank> long_core_wait(const std::vector<RankProfile>& profiles) {
  constexpr double kNoticed = 0.02;
  CoreWaitOfRank out;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const double ms = profiles[i].core_wait_ms.value_or(0);
    if (ms > std::max(out.ms, kNoticed * profiles[i].mean_step_ms)) out = {i, ms};
  }
  return out.ms > 0 ? std::optional(out) : std::nullopt;
}

int count_hosts(const std::vector<RankProfile>& profiles) {
  std::set<std::string> hosts;
  for (const RankProfile& profile : profiles) hosts.insert(profile.host);
  return static_cast<int>(hosts.size());
}

std::optional<LateRank> late_rank(const std::vector<RankProfile>& profiles) {
  constexpr double kNoticed = 1.01;
  if (profiles.size() < 2) return std::nullopt;
  std::vector<double> work;
  work.reserve(profiles.size());
  for (const RankProfile& profile : profiles) work.push_back(own_work_ms(profile));
  LateRank out;
  out.index = static_cast<std::size_t>(std::ranges::max_element(work) - work.begin());
  out.work_ms = work[out.index];
  const auto others = static_cast<double>(profiles.size() - 1);
  out.others_ms = (std::reduce(work.begin(), work.end()) - out.work_ms) / others;
  if (out.work_ms < kNoticed * out.others_ms) return std::nullopt;
  for (const OpStatistics& each : op_statistics(profiles, GroupBy::kClass)) {
    if (each.mean.work == kWaitForBuckets) continue;
    const double own = each.rank_ms[out.index];
    const double all = std::reduce(each.rank_ms.begin(), each.rank_ms.end());
    const double more = own - (all - own) / others;
    if (more <= out.most_ms) continue;
    out.most_ms = more;
    out.most = each.mean.program + " " + each.mean.work;
  }
  return out;
}

}  // namespace lockstep
