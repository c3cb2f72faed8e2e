#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/base/duration.h"
#include "trainer/report/sections.h"
#include "trainer/report/thin.h"
#include "trainer/statistics/op_statistics.h"
#include "trainer/statistics/profile_text.h"

namespace lockstep {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kStripPoints = 2000;
constexpr std::size_t kBins = 60;

/// The name of a share of a step's time in the page; inputs are apart from the host.
const char* group_name(const LedgerRow& row) {
  if (row.work == "inputs") return "input";
  switch (share_of(row)) {
    case TimeShare::kDevice: return "device";
    case TimeShare::kAllReduce: return "all-reduce";
    case TimeShare::kHost: return "host";
    case TimeShare::kPauses: return "pauses";
    case TimeShare::kOther: return "other";
  }
  __builtin_unreachable();
}

OrderedJson waterfall_json(const std::vector<OpStatistics>& rows) {
  OrderedJson out = OrderedJson::array();
  for (const OpStatistics& each : rows) {
    const LedgerRow& row = each.mean;
    out.push_back({{"name", row.is_bundle() ? row.program + " " + row.work : row.work},
                   {"group", group_name(row)},
                   {"ms", row.ms}});
  }
  return out;
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// The cause of a step whose own work took longer: nothing in the run explains it.
constexpr const char* kSlowerWork = "device";

/// Why a step was long, in a word, and in words.
struct OddCause {
  std::string cause;
  std::string text;
};

OddCause cause_of(const OddStep& odd, const RunFacts& facts) {
  for (const CompilationEvent& event : facts.compilation_events)
    if (event.step == odd.step && odd.first_of_program) {
      return {is_recompilation(event) ? "recompilation" : "first step of a program",
              fmt::format("{} in {}{}", word_of(event), readable_time(event.seconds),
                          event.text.empty() ? "" : ": " + event.text)};
    }
  if (odd.first_of_program) return {"first step of a program", "a program ran for the first time"};
  static const std::map<std::string, const char*> kCauses{
      {"idle", "host"},       {"inputs", "input"},          {"all-reduce", "all-reduce"},
      {"checkpoint", "save"}, {"evaluation", "evaluation"}, {"value reads", "value read"}};
  if (odd.beyond_mean_ms.empty())
    return {kSlowerWork, "no part was much longer than in a mean step"};
  const auto& [part, ms] = *std::ranges::max_element(odd.beyond_mean_ms, {},
                                                     [](const auto& each) { return each.second; });
  const std::string text =
      fmt::format("{}: {} more than in a mean step", part, readable_ns(1e6 * ms));
  const auto known = kCauses.find(part);
  if (known != kCauses.end()) return {known->second, text};
  return {kSlowerWork, text};
}

OrderedJson strip_json(const RankProfile& profile, const RunFacts& facts) {
  OrderedJson steps = OrderedJson::array(), ms = OrderedJson::array(), odd = OrderedJson::array();
  const std::size_t count = profile.step_ms.size();
  const std::size_t shown = std::min(count, kStripPoints);
  for (std::size_t range = 0; range < shown; ++range) {
    const auto begin = profile.step_ms.begin() + static_cast<std::ptrdiff_t>(range * count / shown);
    const auto end =
        profile.step_ms.begin() + static_cast<std::ptrdiff_t>((range + 1) * count / shown);
    const auto longest =
        static_cast<std::size_t>(std::max_element(begin, end) - profile.step_ms.begin());
    steps.push_back(longest < profile.step_numbers.size() ? profile.step_numbers[longest]
                                                          : static_cast<std::int64_t>(longest));
    ms.push_back(profile.step_ms[longest]);
  }
  for (const OddStep& each : profile.odd_steps) {
    const OddCause cause = cause_of(each, facts);
    odd.push_back(
        {{"step", each.step}, {"ms", each.ms}, {"cause", cause.cause}, {"text", cause.text}});
  }
  return {{"rank", profile.rank},
          {"step", std::move(steps)},
          {"ms", std::move(ms)},
          {"thinned", count > shown},
          {"median_ms", median_of(profile.step_ms)},
          {"odd", std::move(odd)}};
}

/// Up to four times the median; longer ones are counted together.
OrderedJson distribution_json(const std::vector<double>& step_ms) {
  const double from = *std::ranges::min_element(step_ms);
  const double to = std::max(std::min(*std::ranges::max_element(step_ms), 4 * median_of(step_ms)),
                             from * (1 + 1e-6));
  std::vector<std::int64_t> counts(kBins);
  std::int64_t beyond = 0;
  for (const double ms : step_ms) {
    if (ms > to) {
      ++beyond;
      continue;
    }
    const double place = (ms - from) / (to - from) * static_cast<double>(kBins);
    ++counts[std::min(static_cast<std::size_t>(place), kBins - 1)];
  }
  return {{"from_ms", from}, {"to_ms", to}, {"counts", counts}, {"beyond", beyond}};
}

OrderedJson quantiles_json(std::vector<double> step_ms) {
  std::ranges::sort(step_ms);
  OrderedJson out = OrderedJson::array();
  for (const auto& [name, q] :
       {std::pair{"minimum", 0.0}, {"median", 0.5}, {"99 %", 0.99}, {"maximum", 1.0}})
    out.push_back({{"name", name}, {"ms", quantile(step_ms, q)}});
  return out;
}

/// "; 9 steps stand out, 7 of them because kernels were slower: ...".
std::string odd_sentence(const RunFacts& facts) {
  const std::vector<OddStep>& odd = facts.profiles[0].odd_steps;
  if (odd.empty()) return "";
  std::map<std::string, std::size_t> counts;
  for (const OddStep& each : odd) ++counts[cause_of(each, facts).cause];
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
  std::string out =
      fmt::format("; {} step{} out, ", odd.size(), odd.size() == 1 ? " stands" : "s stand");
  if (most->first == kSlowerWork)
    return out +
           fmt::format("{} with slower kernels: another process probably used cores or memory",
                       most->second);
  return out + fmt::format("{} by: {}", most->second, most->first);
}

std::string step_finding(const RunFacts& facts, double mean_ms) {
  const StepShares shares = step_shares(facts.profiles);
  std::string out = fmt::format("A step takes {} on average", readable_ns(1e6 * mean_ms));
  const auto percent = [&](TimeShare share) {
    return mean_ms > 0 ? 100 * shares[share] / mean_ms : 0;
  };
  out += fmt::format(
      ": {:.0f} % is work of the device, {:.0f} % all-reduce, {:.0f} % waiting for host and input, "
      "{:.0f} % pauses",
      percent(TimeShare::kDevice), percent(TimeShare::kAllReduce), percent(TimeShare::kHost),
      percent(TimeShare::kPauses));
  return out + odd_sentence(facts) + ".";
}

double mean_step_of(const std::vector<RankProfile>& profiles) {
  double out = 0;
  for (const RankProfile& profile : profiles)
    out += profile.mean_step_ms / static_cast<double>(profiles.size());
  return out;
}

}  // namespace

std::string step_section(const RunFacts& facts) {
  OrderedJson out{{"sources", {"lockstep profile " + facts.folder, facts.file("profile/")}}};
  if (facts.profiles.empty() || facts.profiles[0].step_ms.empty()) {
    out["finding"] = "Where the time of a step goes was not measured.";
    out["missing"] =
        facts.profiles.empty()
            ? "train it with profile.ledger=true; the run writes its times when it ends"
            : "no program ran twice, and the first step of each is left out";
    return out.dump();
  }
  const RankProfile& first = facts.profiles[0];
  const double mean = mean_step_of(facts.profiles);
  out["finding"] = step_finding(facts, mean);
  out["mean_ms"] = mean;
  out["waterfall"] = waterfall_json(op_statistics(facts.profiles, GroupBy::kClass));
  out["strip"] = strip_json(first, facts);
  out["distribution"] = distribution_json(first.step_ms);
  out["quantiles"] = quantiles_json(first.step_ms);
  if (!first.simulated.device.empty())
    out["simulated"] = {{"device", first.simulated.device},
                        {"mean_ms", first.simulated.mean_step_ms}};
  return out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace lockstep
