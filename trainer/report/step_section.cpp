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

constexpr const char* kWaitForOthers = "all-reduce";
constexpr std::size_t kStripPoints = 2000;
constexpr std::size_t kBins = 60;

/// The name of a share of a step's time in the page; inputs are apart from the host.
const char* group_name(const LedgerRow& row) {
  if (row.work == "inputs") return "input";
  if (row.work == "gradient sums") return "device";  // of micro-batches of one rank, too
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

/// The cause of a step in which commands took longer: nothing in the run explains it.
constexpr const char* kSlowerWork = "slower kernels";
/// The cause if others had the cores meanwhile.
constexpr const char* kNoCore = "no free core";

/// The cause in parts of the engine itself.
constexpr const char* kRuntime = "runtime";

/// Why a step was long, in a word, and in words.
struct OddCause {
  std::string cause;
  std::string text;
};

/// What made a step longer than a mean one by the most, on any rank.
struct LongestPart {
  int rank = 0;
  std::string part;
  double ms = 0;
  double core_wait_ms = 0;  ///< of this rank, beyond that of a mean step
};

/// A rank waits in all-reduces for those that are slower: their parts come first.
LongestPart longest_part(const RunFacts& facts, std::int64_t step) {
  LongestPart out, wait;
  for (const RankProfile& profile : facts.profiles)
    for (const OddStep& odd : profile.odd_steps) {
      if (odd.step != step) continue;
      for (const auto& [part, ms] : odd.beyond_mean_ms) {
        LongestPart& to = part == kWaitForOthers ? wait : out;
        if (ms > to.ms) to = {profile.rank, part, ms, odd.core_wait_beyond_mean_ms};
      }
    }
  constexpr double kExplains = 0.5;
  return out.ms > kExplains * wait.ms ? out : wait;
}

const char* cause_of_part(const std::string& part) {
  static const std::map<std::string, const char*> kCauses{
      {"idle", "host"},          {"inputs", "input"},          {kWaitForOthers, "all-reduce"},
      {"checkpoint", "save"},    {"evaluation", "evaluation"}, {"value reads", "value read"},
      {"gradient", kSlowerWork}, {"update", kSlowerWork}};
  const auto known = kCauses.find(part);
  return known == kCauses.end() ? kRuntime : known->second;
}

/// Of the programs that were made for a step: how long it took, and why.
OddCause cause_of_programs(const RunFacts& facts, std::int64_t step) {
  OddCause out{"first step of a program", "a program ran for the first time"};
  double seconds = 0;
  int programs = 0;
  std::string why;
  for (const CompilationEvent& event : facts.compilation_events) {
    if (event.step != step) continue;
    ++programs;
    seconds += event.seconds;
    if (is_recompilation(event)) out.cause = "recompilation";
    if (why.empty()) why = event.text;
  }
  if (programs > 0)
    out.text =
        fmt::format("{} program{} compiled or loaded in {}{}", programs, programs == 1 ? "" : "s",
                    readable_time(seconds), why.empty() ? "" : ": " + why);
  return out;
}

OddCause cause_of(const OddStep& odd, const RunFacts& facts) {
  if (odd.first_of_program) return cause_of_programs(facts, odd.step);
  const LongestPart most = longest_part(facts, odd.step);
  if (most.part.empty()) return {kRuntime, "no part was much longer than in a mean step"};
  OddCause out{cause_of_part(most.part),
               fmt::format("{}{}: {} more than in a mean step",
                           facts.profiles.size() > 1 ? fmt::format("rank {}, ", most.rank) : "",
                           most.part, readable_ns(1e6 * most.ms))};
  // Kernels and the runtime wait for nothing but a core.
  constexpr double kMostOfIt = 0.5;
  if ((out.cause == kSlowerWork || out.cause == kRuntime) &&
      most.core_wait_ms > kMostOfIt * most.ms) {
    out.cause = kNoCore;
    out.text += fmt::format(
        "; a thread of the device had no core for {}: another process, another rank or the rank's "
        "own loader had it",
        readable_ns(1e6 * most.core_wait_ms));
  }
  return out;
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
    // As the curves count them: updates made.
    steps.push_back(1 + (longest < profile.step_numbers.size()
                             ? profile.step_numbers[longest]
                             : static_cast<std::int64_t>(longest)));
    ms.push_back(profile.step_ms[longest]);
  }
  for (const OddStep& each : profile.odd_steps) {
    const OddCause cause = cause_of(each, facts);
    odd.push_back(
        {{"step", each.step + 1}, {"ms", each.ms}, {"cause", cause.cause}, {"text", cause.text}});
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
  const double to =
      std::max(std::min(*std::ranges::max_element(step_ms), 4 * median_of(step_ms)), from + 1e-6);
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

/// "; 9 steps stand out, most of them because of slower kernels (7)"; the first ones of programs
/// always do.
std::string odd_sentence(const RunFacts& facts) {
  std::map<std::string, std::size_t> counts;
  std::size_t odd = 0;
  for (const OddStep& each : facts.profiles[0].odd_steps) {
    if (each.first_of_program) continue;
    ++odd;
    ++counts[cause_of(each, facts).cause];
  }
  if (odd == 0) return "";
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
  if (odd == 1) return fmt::format("; one step stands out: {}", most->first);
  return fmt::format("; {} steps stand out, {} of them: {}", odd, most->second, most->first);
}

std::string step_finding(const RunFacts& facts, double mean_ms) {
  const StepShares shares = step_shares(facts.profiles);
  std::string out = fmt::format("A step takes {} on average", readable_ns(1e6 * mean_ms));
  if (facts.lives.size() > 1)
    out = fmt::format("In the last of {} jobs a step takes {} on average", facts.lives.size(),
                      readable_ns(1e6 * mean_ms));
  const auto percent = [&](TimeShare share) {
    return mean_ms > 0 ? 100 * shares[share] / mean_ms : 0;
  };
  out += fmt::format(
      ": {:.0f} % is work of the device, {:.0f} % sums of gradients, {:.0f} % waiting for host and "
      "input, "
      "{:.0f} % pauses",
      percent(TimeShare::kDevice), percent(TimeShare::kAllReduce), percent(TimeShare::kHost),
      percent(TimeShare::kPauses));
  return out + odd_sentence(facts) + ".";
}

}  // namespace

std::string step_section(const RunFacts& facts) {
  OrderedJson out{
      {"sources", {"lockstep profile " + shell_word(facts.folder), facts.file("profile/")}}};
  if (facts.profiles.empty() || facts.profiles[0].step_ms.empty()) {
    out["finding"] = "Where the time of a step goes was not measured.";
    out["missing"] = facts.profiles.empty()
                         ? facts.without_ledger()
                         : "no program ran twice, and the first step of each is left out";
    return out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  }
  const RankProfile& first = facts.profiles[0];
  const double mean = mean_step_ms(facts.profiles);
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
