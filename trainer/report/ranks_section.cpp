#include <nlohmann/json.hpp>

#include "trainer/report/look_at.h"
#include "trainer/report/sections.h"
#include "trainer/statistics/op_statistics.h"

namespace lockstep {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson rank_json(const RankProfile& profile) {
  const double wait = part_ms(profile, "all-reduce");
  OrderedJson out{{"rank", profile.rank},
                  {"host", profile.host},
                  {"mean_step_ms", profile.mean_step_ms},
                  {"work_ms", profile.mean_step_ms - wait},
                  {"wait_ms", wait},
                  {"input_ms", part_ms(profile, "inputs")},
                  {"host_ms", part_ms(profile, "idle")}};
  if (profile.core_wait_ms) out["core_wait_ms"] = *profile.core_wait_ms;
  if (profile.wall_clock)
    out["clock"] = {{"ahead_ms", profile.wall_clock->ahead_ms},
                    {"uncertainty_ms", profile.wall_clock->uncertainty_ms}};
  return out;
}

std::string ranks_finding(const RunFacts& facts) {
  if (facts.profiles.empty()) return "The times of the ranks were not measured.";
  const int ranks = facts.profiles[0].ranks;
  if (ranks == 1) return "There is one rank, which waits for nobody.";
  if (const std::string late = late_sentence(facts); !late.empty()) return late + ".";
  return fmt::format("None of the {} ranks clearly works for longer than the others.", ranks);
}

}  // namespace

std::string ranks_section(const RunFacts& facts) {
  OrderedJson out{
      {"finding", ranks_finding(facts)},
      {"sources", {"lockstep profile " + shell_word(facts.folder), facts.file("profile/")}}};
  if (facts.profiles.empty()) {
    out["missing"] = facts.without_ledger();
    return out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  }
  const auto ranks = static_cast<std::size_t>(facts.profiles[0].ranks);
  if (facts.profiles.size() < ranks)
    out["missing"] = fmt::format("the profiles of {} of {} ranks are not in {}",
                                 ranks - facts.profiles.size(), ranks, facts.file("profile/"));
  out["ranks"] = OrderedJson::array();
  for (const RankProfile& profile : facts.profiles) out["ranks"].push_back(rank_json(profile));
  out["classes"] = OrderedJson::array();
  out["ms"] = OrderedJson::array();
  for (const OpStatistics& each : op_statistics(facts.profiles, GroupBy::kClass)) {
    out["classes"].push_back(each.mean.program + " " + each.mean.work);
    out["ms"].push_back(each.rank_ms);
  }
  if (const auto late = late_rank(facts.profiles))
    out["late"] = {{"rank", facts.profiles[late->index].rank},
                   {"host", facts.profiles[late->index].host},
                   {"work_ms", late->work_ms},
                   {"others_ms", late->others_ms},
                   {"most", late->most},
                   {"most_ms", late->most_ms}};
  return out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace lockstep
