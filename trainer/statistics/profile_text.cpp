#include "trainer/statistics/profile_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/base/duration.h"

namespace lockstep {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::array<const char*, kTimeShareCount> kShareNames{"device", "all-reduce", "host",
                                                               "pauses", "other"};

double mean_virtual_step_ms(const std::vector<RankProfile>& profiles) {
  double out = 0;
  for (const RankProfile& profile : profiles) out += profile.simulated.mean_step_ms;
  return out / static_cast<double>(profiles.size());
}

double percent(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

std::vector<double> sorted(std::vector<double> values) {
  std::ranges::sort(values);
  return values;
}

std::string readable_ms(double ms) {
  return readable_ns(ms * 1e6);
}

/// "12.3" per second of the row's time, in units of 1e9; a dash if nothing is counted.
std::string rate(double amount, double ms) {
  return amount > 0 && ms > 0 ? fmt::format("{:.1f}", amount / ms * 1e-6) : "-";
}

/// "gpt.cpp:41 (h.0.attn)"
std::string place(const LedgerRow& row) {
  return row.module.empty() ? row.line : fmt::format("{} ({})", row.line, row.module);
}

/// Long lists of operands cut short: JSON and CSV have them whole.
std::string short_op(const std::string& op) {
  constexpr std::size_t kShown = 72;
  return op.size() <= kShown ? op : op.substr(0, kShown) + "...";
}

/// The label that distinguishes the group from others, besides program and work.
std::string label(const LedgerRow& row, GroupBy by) {
  if (!row.is_bundle()) return "";
  switch (by) {
    case GroupBy::kClass: return "";
    case GroupBy::kModule: return row.module.empty() ? "(no module)" : row.module;
    case GroupBy::kLine: return row.line;
    case GroupBy::kOp:
      if (row.op.empty()) return "(commands of programs that are gone)";
      return short_op(row.op) + " " + place(row) +
             (row.places > 1 ? fmt::format(" and {} more", row.places - 1) : "");
  }
  __builtin_unreachable();
}

/// Whether all ranks have virtual time.
bool is_simulated(const std::vector<RankProfile>& profiles) {
  return std::ranges::all_of(
      profiles, [](const RankProfile& profile) { return !profile.simulated.device.empty(); });
}

/// "60 %"; a dash for what has no limit.
std::string share_of_limit(std::optional<double> share) {
  return share ? fmt::format("{:.0f} %", 100 * *share) : "-";
}

/// With virtual time the count of commands makes room for it.
std::string row_line(const OpStatistics& each, GroupBy by, double step_ms,
                     const std::vector<RankProfile>& profiles) {
  const LedgerRow& row = each.mean;
  const bool simulated = is_simulated(profiles);
  std::string out = fmt::format("  {:<8} {:<14} {:>9.3f} {:>5.1f} % {:>9.3f}", row.program,
                                row.work, row.ms, percent(row.ms, step_ms), row.min_ms);
  if (!simulated) out += fmt::format(" {:>7.0f}", row.commands);
  out += fmt::format(" {:>8} {:>7} {:>7}", rate(row.flops, row.ms), rate(row.bytes, row.ms),
                     share_of_limit(each.of_limit()));
  if (simulated)
    out += fmt::format(" {:>9.3f} {:>9}", row.virtual_ms, share_of_limit(each.of_virtual_limit()));
  if (profiles.size() > 1)
    out += fmt::format(" {:>5.0f} % r{:<3}", 100 * each.skew(), profiles[each.slowest()].rank);
  if (const std::string what = label(row, by); !what.empty()) out += "  " + what;
  while (out.back() == ' ') out.pop_back();
  return out + "\n";
}

std::string header(const std::vector<RankProfile>& profiles) {
  const bool simulated = is_simulated(profiles);
  return fmt::format("  {:<8} {:<14} {:>9} {:>7} {:>9}{} {:>8} {:>7} {:>7}{}{}\n", "program",
                     "work", "ms/step", "share", "min", simulated ? "" : "   count", "GFLOP/s",
                     "GB/s", "limit", simulated ? "    sim ms sim limit" : "",
                     profiles.size() > 1 ? "  skew, slowest" : "");
}

/// The line for all rows that are not shown.
std::string rest_line(const LedgerRow& rest, double step_ms, bool simulated) {
  std::string out = fmt::format("  and {} more {:>18.3f} {:>5.1f} %", rest.places, rest.ms,
                                percent(rest.ms, step_ms));
  if (simulated) out += fmt::format("{:>45.3f}", rest.virtual_ms);
  return out + "\n";
}

/// A line on the device that the run simulates, and its ranks' mean step there.
std::string describe_simulated(const std::vector<RankProfile>& profiles) {
  double bundles = 0, limit = 0;
  for (const OpStatistics& each : op_statistics(profiles, GroupBy::kClass))
    if (each.of_virtual_limit()) {
      bundles += each.mean.virtual_ms;
      limit += each.mean.virtual_lower_bound_ms;
    }
  const SimulatedSteps& first = profiles[0].simulated;
  return fmt::format(
      "  sim: virtual time on {}, {} steps of {}; commands run at {:.0f} % of its limits\n",
      first.device, first.steps, readable_ms(mean_virtual_step_ms(profiles)),
      percent(limit, bundles));
}

/// A text quoted for CSV.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

OrderedJson row_json(const OpStatistics& each, double step_ms, bool simulated) {
  const LedgerRow& row = each.mean;
  OrderedJson out{{"program", row.program},
                  {"work", row.work},
                  {"op", row.op},
                  {"module", row.module},
                  {"line", row.line},
                  {"places", row.places},
                  {"ms", row.ms},
                  {"share", step_ms > 0 ? row.ms / step_ms : 0},
                  {"least_ms", row.min_ms},
                  {"count", row.commands},
                  {"flops", row.flops},
                  {"bytes", row.bytes},
                  {"fused_ms", row.fused_ms}};
  if (const auto limit = each.of_limit()) out["of_limit"] = *limit;
  if (simulated) {
    out["sim_ms"] = row.virtual_ms;
    if (const auto limit = each.of_virtual_limit()) out["sim_of_limit"] = *limit;
  }
  out["rank_ms"] = each.rank_ms;
  out["skew"] = each.skew();
  return out;
}

}  // namespace

double quantile(const std::vector<double>& sorted, double q) {
  const auto last = static_cast<double>(sorted.size() - 1);
  // NOLINTNEXTLINE(bugprone-incorrect-roundings): it is not negative
  return sorted[static_cast<std::size_t>(q * last + 0.5)];
}

std::string describe_steps(const std::vector<RankProfile>& profiles) {
  const RankProfile& first = profiles[0];
  if (first.steps == 0 || first.step_ms.empty())
    return fmt::format(
        "no program ran twice in {} steps: there are no times, as the first step of each program "
        "is left out\n",
        first.left_out);
  const double step = mean_step_ms(profiles);
  const std::vector<double> ms = sorted(first.step_ms);
  std::string out = fmt::format(
      "{} steps of {}: minimum {}, median {}, 99 % {}, maximum {} of rank {} ({} more left out: "
      "the first of each program)\n",
      first.steps, readable_ms(step), readable_ms(ms.front()), readable_ms(quantile(ms, 0.5)),
      readable_ms(quantile(ms, 0.99)), readable_ms(ms.back()), first.rank, first.left_out);
  const StepShares shares = step_shares(profiles);
  for (std::size_t i = 0; i < kTimeShareCount; ++i)
    out += fmt::format("{}{} {:.1f} %", i == 0 ? "  " : ", ", kShareNames[i],
                       percent(shares.ms[i], step));
  out += fmt::format("; of the device's time {:.0f} % in fused kernels\n",
                     percent(shares.fused_ms, shares[TimeShare::kDevice]));
  out += fmt::format("  commands run at {:.0f} % of this machine's limits ({})\n",
                     percent(shares.lower_bound_ms, shares.bundled_ms), first.limits);
  if (is_simulated(profiles)) out += describe_simulated(profiles);
  if (const auto wait = long_core_wait(profiles)) {
    const RankProfile& who = profiles[wait->index];
    out += fmt::format(
        "  rank {} on {} waits {} of each step ({:.1f} %) for a core, which others use: another "
        "process, another rank, or the rank's own loader\n",
        who.rank, who.host, readable_ms(wait->ms), percent(wait->ms, who.mean_step_ms));
  }
  if (const auto late = late_rank(profiles)) {
    const RankProfile& who = profiles[late->index];
    out += fmt::format(
        "  rank {} on {} is late: its own work takes {} a step, {:.0f} % more than that of the "
        "others, which wait for it; most of it {}: {} more\n",
        who.rank, who.host, readable_ms(late->work_ms),
        percent(late->work_ms, late->others_ms) - 100, late->most, readable_ms(late->most_ms));
  }
  return out;
}

std::string describe_rows(const std::vector<RankProfile>& profiles, GroupBy by,
                          std::size_t max_rows) {
  constexpr double kShownMs = 0.0005;  // shorter times would print as zero
  const double step = mean_step_ms(profiles);
  std::string out = header(profiles);
  LedgerRow rest;
  rest.places = 0;
  std::size_t shown = 0;
  for (const OpStatistics& each : op_statistics(profiles, by)) {
    if (shown < max_rows && std::max(each.mean.ms, each.mean.virtual_ms) >= kShownMs) {
      out += row_line(each, by, step, profiles);
      ++shown;
    } else {
      add_amounts(each.mean, rest);
      ++rest.places;
    }
  }
  if (rest.places > 0) out += rest_line(rest, step, is_simulated(profiles));
  return out;
}

std::string rows_csv(const std::vector<RankProfile>& profiles, GroupBy by) {
  const double step = mean_step_ms(profiles);
  std::string out =
      "program,work,op,module,line,places,ms,share,least_ms,count,flops,bytes,"
      "fused_ms,of_limit,skew";
  const bool simulated = is_simulated(profiles);
  if (simulated) out += ",sim_ms,sim_of_limit";
  for (const RankProfile& profile : profiles) out += fmt::format(",rank_{}_ms", profile.rank);
  out += "\r\n";
  for (const OpStatistics& each : op_statistics(profiles, by)) {
    const LedgerRow& row = each.mean;
    const auto limit = each.of_limit();
    out +=
        fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", row.program, quoted(row.work),
                    quoted(row.op), quoted(row.module), quoted(row.line), row.places, row.ms,
                    step > 0 ? row.ms / step : 0, row.min_ms, row.commands, row.flops, row.bytes,
                    row.fused_ms, limit ? fmt::format("{}", *limit) : "", each.skew());
    if (simulated) {
      const auto of_limit = each.of_virtual_limit();
      out += fmt::format(",{},{}", row.virtual_ms, of_limit ? fmt::format("{}", *of_limit) : "");
    }
    for (const double ms : each.rank_ms) out += fmt::format(",{}", ms);
    out += "\r\n";
  }
  return out;
}

std::string statistics_json(const std::vector<RankProfile>& profiles, GroupBy by) {
  const double step = mean_step_ms(profiles);
  OrderedJson out{
      {"limits", profiles[0].limits}, {"ranks", OrderedJson::array()}, {"mean_step_ms", step}};
  for (const RankProfile& profile : profiles) {
    OrderedJson& rank =
        out["ranks"].emplace_back(OrderedJson{{"rank", profile.rank},
                                              {"host", profile.host},
                                              {"steps", profile.steps},
                                              {"mean_step_ms", profile.mean_step_ms}});
    if (profile.core_wait_ms) rank["core_wait_ms"] = *profile.core_wait_ms;
    if (profile.wall_clock) rank["clock_ahead_ms"] = profile.wall_clock->ahead_ms;
  }
  const StepShares shares = step_shares(profiles);
  for (std::size_t i = 0; i < kTimeShareCount; ++i) out["shares"][kShareNames[i]] = shares.ms[i];
  out["fused_ms"] = shares.fused_ms;
  out["attainable_ms"] = shares.lower_bound_ms;
  if (const auto late = late_rank(profiles))
    out["late"] = {{"rank", profiles[late->index].rank},
                   {"work_ms", late->work_ms},
                   {"others_ms", late->others_ms},
                   {"most", late->most},
                   {"most_ms", late->most_ms}};
  const bool simulated = is_simulated(profiles);
  if (simulated)
    out["simulated"] = {{"device", profiles[0].simulated.device},
                        {"steps", profiles[0].simulated.steps},
                        {"mean_step_ms", mean_virtual_step_ms(profiles)}};
  out["by"] = name_of(by);
  out["rows"] = OrderedJson::array();
  for (const OpStatistics& each : op_statistics(profiles, by))
    out["rows"].push_back(row_json(each, step, simulated));
  return out.dump(1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace lockstep
