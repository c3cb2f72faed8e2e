#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/duration.h"
#include "core/explain/cause.h"
#include "trainer/report/sections.h"

namespace lockstep {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kMaxCompilationEvents = 500;

OrderedJson reads_of(const std::vector<Cuts::Row>& cuts) {
  constexpr double kMsOfNs = 1e-6;
  OrderedJson out = OrderedJson::array();
  for (const Cuts::Row& row : cuts) {
    if (row.what.empty()) continue;
    out.push_back({{"line", row.line},
                   {"what", row.told()},
                   {"in_step", row.in_step},
                   {"count", row.count},
                   {"waited_ms", kMsOfNs * static_cast<double>(row.waited_ns)},
                   {"idle_ms", kMsOfNs * static_cast<double>(row.idle_ns)}});
  }
  return out;
}

struct CompilationSums {
  std::int64_t compiled = 0, loaded = 0, again = 0;
  double seconds = 0;
  PassMs pass_ms;  ///< in the order of the passes
};

CompilationSums sums_of(const std::vector<CompilationEvent>& events) {
  CompilationSums out;
  for (const CompilationEvent& event : events) {
    (event.loaded ? out.loaded : out.compiled) += 1;
    if (is_recompilation(event)) ++out.again;
    out.seconds += event.seconds;
    for (const auto& [pass, ms] : event.passes) {
      const auto known =
          std::ranges::find(out.pass_ms, pass, [](const auto& each) { return each.first; });
      if (known == out.pass_ms.end())
        out.pass_ms.emplace_back(pass, ms);
      else
        known->second += ms;
    }
  }
  return out;
}

std::string compilation_finding(const RunFacts& facts, const CompilationSums& sums) {
  const std::int64_t programs = sums.compiled + sums.loaded;
  if (programs == 0) return "Nothing was compiled.";
  const auto plural = [](std::int64_t count) { return count == 1 ? "" : "s"; };
  std::string out =
      fmt::format("{} program{} compiled and {} loaded from the cache, in {}", sums.compiled,
                  plural(sums.compiled), sums.loaded, readable_time(sums.seconds));
  std::vector<CauseTally::Row> rows = facts.compilations.rows();
  std::erase_if(
      rows, [](const CauseTally::Row& row) { return is_expected(row.cause, row.main().remedy); });
  if (rows.empty()) return out + "; nothing was recompiled.";
  return out + fmt::format("; {} recompilation{}, {}: {}.", sums.again, plural(sums.again),
                           sums.again == 1 ? "because of" : "most because of",
                           rows.front().describe());
}

}  // namespace

std::string compilation_section(const RunFacts& facts) {
  const CompilationSums sums = sums_of(facts.compilation_events);
  OrderedJson out{{"finding", compilation_finding(facts, sums)},
                  {"sources",
                   {"lockstep profile " + shell_word(facts.folder),
                    facts.file("compilations.jsonl"), facts.file("cuts.json")}},
                  {"compiled", sums.compiled},
                  {"loaded", sums.loaded},
                  {"seconds", sums.seconds},
                  {"causes", OrderedJson::parse(causes_json(facts.compilations))},
                  {"events", OrderedJson::array()},
                  {"passes", OrderedJson::array()},
                  {"reads", reads_of(facts.cuts)}};
  for (const CompilationEvent& event : facts.compilation_events)
    if (out["events"].size() < kMaxCompilationEvents)
      out["events"].push_back({{"step", event.step + 1},
                               {"event", word_of(event)},
                               {"seconds", event.seconds},
                               {"cause", event.cause},
                               {"text", event.text}});
  for (const auto& [pass, ms] : sums.pass_ms) out["passes"].push_back({{"name", pass}, {"ms", ms}});
  return out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace lockstep
