#include "core/engine/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>

namespace lockstep {
namespace {

/// Commands [begin, end) of a plan, which run at once and are measured together.
struct Launch {
  const Plan& plan;
  std::size_t begin;
  std::size_t end;
  bool is_update;

  const Command& first() const { return plan.commands[begin]; }
  double sum(double Command::*what) const {
    double out = 0;
    for (std::size_t c = begin; c < end; ++c) out += plan.commands[c].*what;
    return out;
  }
};

/// All commands of a launch are of one class.
std::string work_of(const Launch& launch) {
  return std::string(name_of(launch.first().work));
}

/// What makes commands of different layers the same: op and types.
std::string signature_of(const Launch& launch) {
  const Plan& plan = launch.plan;
  const Node& node = plan.graph[launch.first().value];
  const std::size_t count = launch.end - launch.begin;
  std::string out = count > 1 ? fmt::format("{} at once, the first: ", count) : "";
  out += name_of(node.op);
  if (node.op == Op::kHostCall) out += " " + node.attrs.text(Attr::kFunction);
  out += fmt::format(" {} (", node.type.to_string());
  for (std::size_t i = 0; i < node.operands.size(); ++i)
    out += (i == 0 ? "" : ", ") + plan.graph[node.operands[i]].type.to_string();
  return out + ")";
}

constexpr std::array kCommandParts = {&LedgerPage::shard_ns, &LedgerPage::update_ns};
constexpr std::array kStepParts = {&LedgerPage::gradient_sums_ns, &LedgerPage::all_reduce_ns,
                                   &LedgerPage::copies_ns,        &LedgerPage::state_check_ns,
                                   &LedgerPage::idle_ns,          &LedgerPage::wall_ns};

/// Each part of `to` becomes combine(it, the page's).
template <class Combine>
void combine_parts(LedgerPage& to, const LedgerPage& page, const Combine& combine) {
  for (const auto part : kCommandParts)
    for (std::size_t i = 0; i < (page.*part).size(); ++i)
      (to.*part)[i] = combine((to.*part)[i], (page.*part)[i]);
  for (const auto part : kStepParts) to.*part = combine(to.*part, page.*part);
}

double to_ms(double ns) {
  return ns * 1e-6;
}

constexpr const char* kIdle = "idle";

void add_work(const Launch& launch, double calls, LedgerRow& to) {
  to.commands += calls;
  to.flops += launch.sum(&Command::flops) * calls;
  to.bytes += launch.sum(&Command::bytes) * calls;
}

/// Means of what are sums over so many steps.
std::vector<LedgerRow> longest_first(const std::map<std::string, LedgerRow>& sums, double steps) {
  std::vector<LedgerRow> out;
  for (const auto& [key, sum] : sums) {
    LedgerRow& row = out.emplace_back(sum);
    for (double LedgerRow::*part : {&LedgerRow::ms, &LedgerRow::least_ms, &LedgerRow::commands,
                                    &LedgerRow::flops, &LedgerRow::bytes})
      row.*part /= steps;
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const LedgerRow& a, const LedgerRow& b) { return a.ms > b.ms; });
  return out;
}

/// "12.3" per second of the row's time, in units of 1e9; a dash where nothing is counted.
std::string rate(double amount, double ms) {
  return amount > 0 && ms > 0 ? fmt::format("{:.1f}", amount / ms * 1e-6) : "-";
}

std::string line(const LedgerRow& row, double step_ms) {
  std::string out = fmt::format(
      "  {:<7} {:<14} {:>8.3f} ms {:>5.1f} % {:>8} ms {:>6} x {:>8} GFLOP/s {:>7} GB/s",
      row.program, row.work, row.ms, 100 * row.ms / step_ms,
      row.least_ms > 0 ? fmt::format("{:.3f}", row.least_ms) : "-",
      fmt::format("{:.0f}", row.commands), rate(row.flops, row.ms), rate(row.bytes, row.ms));
  if (!row.detail.empty()) out += "  " + row.detail;
  return out + "\n";
}

}  // namespace

void Ledger::add(const std::shared_ptr<const CompiledStep>& program, const LedgerPage& page) {
  const std::lock_guard lock(mutex_);
  const auto it = std::find_if(totals_.begin(), totals_.end(),
                               [&](const Totals& totals) { return totals.program == program; });
  if (it == totals_.end()) {
    if (!totals_.empty() && totals_.size() >= max_programs_) fold_oldest();
    totals_.push_back({program, 0, 0, {}, {}});
    return;
  }
  std::rotate(it, it + 1, totals_.end());
  Totals& totals = totals_.back();
  totals.steps += 1;
  totals.shard_calls += page.shards;
  if (totals.steps == 1) {
    totals.sum = totals.least = page;
  } else {
    combine_parts(totals.sum, page, std::plus<>());
    combine_parts(totals.least, page, [](auto a, auto b) { return std::min(a, b); });
  }
  wall_ns_.push_back(page.wall_ns);
}

/// visit(launch, total ns, ns if each step had taken the least time, calls)
template <class Visit>
void Ledger::visit_launches(const Totals& totals, const Visit& visit) {
  const auto visit_plan = [&](const Plan& plan, std::vector<std::int64_t> LedgerPage::*part,
                              bool is_update, std::int64_t calls) {
    const std::vector<std::int64_t>& ns = totals.sum.*part;
    for (std::size_t begin = 0; begin < ns.size();) {
      const std::size_t end = next_launch(plan, begin);
      const std::int64_t least = (totals.least.*part)[begin] * totals.steps;
      visit(Launch{plan, begin, end, is_update}, static_cast<double>(ns[begin]),
            static_cast<double>(least), static_cast<double>(calls));
      begin = end;
    }
  };
  visit_plan(totals.program->shard, &LedgerPage::shard_ns, false, totals.shard_calls);
  visit_plan(totals.program->update, &LedgerPage::update_ns, true, totals.steps);
}

void Ledger::add_classes(const Totals& totals, Sums& to) {
  const auto add = [&](const char* program, const std::string& work, double ns,
                       double least) -> LedgerRow& {
    LedgerRow& row = to[program + work];
    row.program = program;
    row.work = work;
    row.ms += to_ms(ns);
    row.least_ms += to_ms(least);
    return row;
  };
  visit_launches(totals, [&](const Launch& launch, double ns, double least, double calls) {
    add_work(launch, calls, add(launch.is_update ? "update" : "shard", work_of(launch), ns, least));
  });
  const auto add_part = [&](const char* work, std::int64_t LedgerPage::*part) {
    add("step", work, static_cast<double>(totals.sum.*part),
        static_cast<double>(totals.least.*part * totals.steps));
  };
  add_part("gradient sums", &LedgerPage::gradient_sums_ns);
  add_part("all-reduce", &LedgerPage::all_reduce_ns);
  add_part("copies", &LedgerPage::copies_ns);
  add_part("state check", &LedgerPage::state_check_ns);
  add("step", kIdle, static_cast<double>(totals.sum.idle_ns), 0);
}

void Ledger::add_commands(const Totals& totals, Sums& to) {
  visit_launches(totals, [&](const Launch& launch, double ns, double least, double calls) {
    const std::string work = work_of(launch);
    const std::string signature = signature_of(launch);
    LedgerRow& row = to[fmt::format("{} {} {}", launch.is_update, work, signature)];
    row.program = launch.is_update ? "update" : "shard";
    row.work = work;
    if (row.detail.empty())
      row.detail = signature + " " + launch.plan.graph[launch.first().value].origin.to_string();
    row.ms += to_ms(ns);
    row.least_ms += to_ms(least);
    add_work(launch, calls, row);
  });
}

void Ledger::fold_oldest() {
  add_classes(totals_.front(), folded_classes_);
  add_commands(totals_.front(), folded_commands_);
  totals_.erase(totals_.begin());
  while (folded_commands_.size() > kMaxCommands)
    folded_commands_.erase(std::ranges::min_element(
        folded_commands_, {}, [](const auto& entry) { return entry.second.ms; }));
}

std::vector<LedgerRow> Ledger::rows() const {
  const std::lock_guard lock(mutex_);
  if (wall_ns_.empty()) return {};
  Sums sums = folded_classes_;
  for (const Totals& totals : totals_) add_classes(totals, sums);
  const auto steps = static_cast<double>(wall_ns_.size());
  double dispatch = to_ms(
      static_cast<double>(std::accumulate(wall_ns_.begin(), wall_ns_.end(), std::int64_t{0})));
  for (const auto& [key, row] : sums) dispatch -= row.ms;
  const LedgerRow idle = sums[std::string("step") + kIdle];
  sums.erase(std::string("step") + kIdle);
  std::vector<LedgerRow> out = longest_first(sums, steps);
  std::erase_if(out, [](const LedgerRow& row) { return row.ms == 0; });
  out.push_back({.program = "step", .work = "dispatch", .detail = "", .ms = dispatch / steps});
  out.push_back({.program = "step", .work = kIdle, .detail = "", .ms = idle.ms / steps});
  return out;
}

std::vector<LedgerRow> Ledger::top_commands(std::size_t limit) const {
  const std::lock_guard lock(mutex_);
  Sums sums = folded_commands_;
  for (const Totals& totals : totals_) add_commands(totals, sums);
  std::vector<LedgerRow> out = longest_first(sums, static_cast<double>(wall_ns_.size()));
  if (out.size() > limit) out.resize(limit);
  return out;
}

std::vector<double> Ledger::step_ms() const {
  const std::lock_guard lock(mutex_);
  std::vector<double> out;
  for (const std::int64_t ns : wall_ns_) out.push_back(to_ms(static_cast<double>(ns)));
  return out;
}

double Ledger::mean_step_ms() const {
  const std::vector<double> steps = step_ms();
  if (steps.empty()) return 0;
  return std::accumulate(steps.begin(), steps.end(), 0.0) / static_cast<double>(steps.size());
}

std::string Ledger::table(std::size_t top_limit) const {
  const std::vector<double> wall = step_ms();
  const std::size_t steps = wall.size();
  if (steps == 0) return "time ledger: no step ran twice\n";
  const double mean = mean_step_ms();
  std::string out = fmt::format(
      "time ledger: {} steps of {:.3f} ms on average, {:.3f} at least (first step of a program "
      "left "
      "out);\n  rows: mean, share, least, commands\n",
      steps, mean, *std::min_element(wall.begin(), wall.end()));
  double sum = 0;
  constexpr double kShownMs = 0.0005;  // what does not print as zero
  for (const LedgerRow& row : rows()) {
    if (row.ms >= kShownMs) out += line(row, mean);
    sum += row.ms;
  }
  out += fmt::format(
      "  sum {:.3f} ms = 100 % of the wall time\nlongest commands, like ones together:\n", sum);
  for (const LedgerRow& row : top_commands(top_limit)) out += line(row, mean);
  return out;
}

}  // namespace lockstep
