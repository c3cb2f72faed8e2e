#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/duration.h"
#include "trainer/report/readable_bytes.h"
#include "trainer/report/sections.h"
#include "trainer/statistics/op_statistics.h"

namespace lockstep {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct BucketSums {
  double busy_ms = 0;  ///< with at least one bucket under way
  double bytes = 0;
};

BucketSums sums_of(const BucketMeans& buckets) {
  BucketSums out;
  double until = 0;
  std::vector<BucketTime> times = buckets.times;
  std::ranges::sort(times, {}, &BucketTime::begin_ms);
  for (const BucketTime& each : times) {
    out.busy_ms += std::max(each.end_ms - std::max(each.begin_ms, until), 0.0);
    until = std::max(until, each.end_ms);
    out.bytes += static_cast<double>(each.bytes);
  }
  return out;
}

std::string communication_finding(const BucketMeans& buckets, const BucketSums& sums, int rank,
                                  double exposed_ms) {
  const std::size_t count = buckets.times.size();
  return fmt::format(
      "{} of gradients go over {} bucket{} in {} of each step; rank {} waits {} for them, and its "
      "work hides the rest.",
      readable_bytes(sums.bytes), count, count == 1 ? "" : "s", readable_ns(1e6 * sums.busy_ms),
      rank, readable_ns(1e6 * exposed_ms));
}

}  // namespace

std::string communication_section(const RunFacts& facts) {
  OrderedJson out{
      {"sources",
       {facts.file("profile/rank-0.json"), "lockstep profile " + shell_word(facts.folder)}}};
  if (facts.profiles.empty() || facts.profiles[0].buckets.steps == 0) {
    out["finding"] = "When buckets of gradients are summed was not measured.";
    out["missing"] = facts.without_ledger();
    return out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  }
  const RankProfile& first = facts.profiles[0];
  const BucketMeans& buckets = first.buckets;
  if (buckets.times.empty()) {
    out["finding"] = "There is one rank, whose gradients go nowhere.";
    return out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  }
  const BucketSums sums = sums_of(buckets);
  const double exposed = part_ms(first, "all-reduce");
  out["finding"] = communication_finding(buckets, sums, first.rank, exposed);
  out["step_ms"] = first.mean_step_ms;
  out["all_reduce_ms"] = sums.busy_ms;
  out["exposed_ms"] = exposed;
  out["buckets"] = OrderedJson::array();
  for (const BucketTime& each : buckets.times) {
    out["buckets"].push_back({{"bucket", each.bucket},
                              {"bytes", each.bytes},
                              {"begin_ms", each.begin_ms},
                              {"end_ms", each.end_ms},
                              {"exposed_ms", each.exposed_ms}});
    // Of a bucket that all ranks have ready at once, and nothing else runs.
    constexpr double kMsOfSecond = 1e3;
    const double calibrated =
        facts.knows_limits() && facts.busy_cores().ranks == first.ranks
            ? all_reduce_seconds(facts.limits, static_cast<double>(each.bytes), first.ranks)
            : 0;
    if (calibrated > 0) out["buckets"].back()["calibrated_ms"] = kMsOfSecond * calibrated;
  }
  out["gradient_end_ms"] = buckets.gradient_end_ms;
  out["update_begin_ms"] = buckets.update_begin_ms;
  return out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace lockstep
