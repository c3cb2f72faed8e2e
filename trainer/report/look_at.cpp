#include "trainer/report/look_at.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/duration.h"
#include "core/explain/cause.h"
#include "trainer/statistics/op_statistics.h"

namespace lockstep {
namespace {

constexpr double kNoticedShare = 0.02;  ///< of a step, below which nothing is said
constexpr double kGoodLimitShare = 0.6;
constexpr double kLargeClassShare = 0.15;

double percent_of(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

/// A part of a step that is not the device's own work.
void add_part(const std::vector<OpStatistics>& rows, const std::string& work, double step_ms,
              const std::string& words, const std::string& section, std::vector<LookAt>& to) {
  double ms = 0;
  for (const OpStatistics& row : rows)
    if (row.mean.work == work) ms += row.mean.ms;
  if (ms < kNoticedShare * step_ms) return;
  to.push_back({fmt::format("{} {} of each step ({:.1f} %)", words, readable_ns(1e6 * ms),
                            percent_of(ms, step_ms)),
                section, ms / step_ms});
}

void add_step_parts(const RunFacts& facts, std::vector<LookAt>& to) {
  const double step = mean_step_ms(facts.profiles);
  if (step <= 0) return;
  const std::vector<OpStatistics> rows = op_statistics(facts.profiles, GroupBy::kClass);
  add_part(rows, "idle", step, "the device waits for the host", "step", to);
  add_part(rows, "inputs", step, "the device waits for input", "step", to);
  if (late_sentence(facts).empty())
    add_part(rows, "all-reduce", step, "all-reduces that nothing hides take", "communication", to);
  add_part(rows, "checkpoint", step, "pauses for saves take", "step", to);
  add_part(rows, "evaluation", step, "evaluations take", "step", to);
  add_part(rows, "value reads", step, "reads of values take", "compilation", to);
  if (const auto wait = long_core_wait(facts.profiles)) {
    const RankProfile& who = facts.profiles[wait->index];
    to.push_back({fmt::format("rank {} on {} waits {} of each step ({:.1f} %) for a core, which "
                              "others use",
                              who.rank, who.host, readable_ns(1e6 * wait->ms),
                              percent_of(wait->ms, who.mean_step_ms)),
                  "ranks", wait->ms / who.mean_step_ms});
  }
  if (!facts.is_calibrated()) return;
  for (const OpStatistics& row : rows) {
    const auto limit = row.of_limit();
    const double share = row.mean.ms / step;
    if (!limit || *limit >= kGoodLimitShare || share < kLargeClassShare) continue;
    to.push_back({fmt::format("{} {} runs at {:.0f} % of the machine's limit and takes {:.0f} % of "
                              "each step",
                              row.mean.program, row.mean.work, 100 * *limit, 100 * share),
                  "ops", share * (1 - *limit)});
  }
}

/// The longest work of the other ranks.
double second_work_ms(const RunFacts& facts, std::size_t late) {
  double out = 0;
  for (std::size_t i = 0; i < facts.profiles.size(); ++i) {
    if (i == late) continue;
    const RankProfile& each = facts.profiles[i];
    out = std::max(out, each.mean_step_ms - part_ms(each, "all-reduce"));
  }
  return out;
}

void add_recompilations(const RunFacts& facts, std::vector<LookAt>& to) {
  const double wall = facts.training_seconds();
  for (const CauseTally::Row& row : facts.compilations.rows()) {
    const double share = wall > 0 ? row.seconds / wall : 0;
    if (is_expected(row.cause, row.main().remedy) || share < kNoticedShare) continue;
    to.push_back(
        {fmt::format("{} recompilation{} took {}: {}", row.misses(), row.misses() == 1 ? "" : "s",
                     readable_time(row.seconds), row.describe()),
         "compilation", share});
  }
}

/// Evaluations that have become worse than the best one.
void add_rising_loss(const RunFacts& facts, std::vector<LookAt>& to) {
  constexpr double kRisen = 1.02;
  double best = INFINITY, last = NAN;
  std::int64_t best_step = 0;
  for (const TelemetryRecord& record : facts.metrics) {
    const auto loss = record.evaluations.find("eval/loss");
    if (loss == record.evaluations.end()) continue;
    last = loss->second;
    if (last >= best) continue;
    best = last;
    best_step = record.step;
  }
  if (!(last > kRisen * best)) return;
  to.push_back({fmt::format("eval/loss was best at step {} ({:.4g}) and is {:.4g} now", best_step,
                            best, last),
                "learning", 0.5});
}

}  // namespace

std::string late_sentence(const RunFacts& facts) {
  const auto late = late_rank(facts.profiles);
  if (!late) return "";
  const RankProfile& who = facts.profiles[late->index];
  const double step = mean_step_ms(facts.profiles), behind = late->work_ms - late->others_ms;
  // Of two ranks that are late alike, neither is the one to look at.
  if (behind < kNoticedShare * step ||
      late->work_ms - second_work_ms(facts, late->index) < behind / 2)
    return "";
  const int others = who.ranks - 1;
  return fmt::format(
      "{} of {} ranks wait{} {:.1f} % of each step for rank {} on {}, whose {} takes {} "
      "more than theirs",
      others, who.ranks, others == 1 ? "s" : "", percent_of(behind, step), who.rank, who.host,
      late->most, readable_ns(1e6 * late->most_ms));
}

std::vector<LookAt> things_to_look_at(const RunFacts& facts) {
  std::vector<LookAt> out;
  if (const std::string late = late_sentence(facts); !late.empty()) {
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): there is a sentence on it
    const LateRank rank = late_rank(facts.profiles).value();
    out.push_back({late, "ranks", (rank.work_ms - rank.others_ms) / mean_step_ms(facts.profiles)});
  }
  if (!facts.profiles.empty()) add_step_parts(facts, out);
  add_recompilations(facts, out);
  add_rising_loss(facts, out);
  std::ranges::stable_sort(out, std::greater(), &LookAt::share);
  return out;
}

}  // namespace lockstep
