#include "core/engine/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <utility>

#include "core/engine/execution.h"
#include "core/engine/launch.h"
#include "core/runtime/plan_cost.h"

namespace lockstep {
namespace {

constexpr std::array kCommandParts = {&LedgerPage::shard_ns, &LedgerPage::update_ns};

/// Each part of `to` becomes combine(it, the page's).
template <class Combine>
void combine_parts(LedgerPage& to, const LedgerPage& page, const Combine& combine) {
  for (const auto part : kCommandParts) {
    (to.*part).resize(std::max((to.*part).size(), (page.*part).size()));
    for (std::size_t i = 0; i < (page.*part).size(); ++i)
      (to.*part)[i] = combine((to.*part)[i], (page.*part)[i]);
  }
  for (std::size_t i = 0; i < kStepPartCount; ++i)
    to.parts_ns[i] = combine(to.parts_ns[i], page.parts_ns[i]);
  to.wall_ns = combine(to.wall_ns, page.wall_ns);
}

const char* name_of(StepPart part) {
  switch (part) {
    case StepPart::kIdle: return "idle";
    case StepPart::kInputs: return "inputs";
    case StepPart::kGradientSums: return "gradient sums";
    case StepPart::kAllReduce: return "all-reduce";
    case StepPart::kStateCheck: return "state check";
    case StepPart::kCopies: return "copies";
    case StepPart::kDispatch: return "dispatch";
    case StepPart::kCheckpoint: return "checkpoint";
    case StepPart::kEvaluation: return "evaluation";
    case StepPart::kValueReads: return "value reads";
  }
  __builtin_unreachable();
}

double to_ms(double ns) {
  return ns * 1e-6;
}

/// What so many calls of the plan do; not their time, which is of all calls already.
void add_work(const WorkCost& cost, double calls, LedgerRow& to) {
  to.commands += static_cast<double>(cost.launches) * calls;
  to.flops += cost.flops * calls;
  to.bytes += cost.bytes * calls;
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

void Ledger::on_span(const Span& span) {
  switch (span.kind) {
    case SpanKind::kCommand: {
      std::vector<std::int64_t>& ns = span.args[1] != 0 ? running_.update_ns : running_.shard_ns;
      const auto command = static_cast<std::size_t>(span.args[2]);
      if (command >= ns.size()) ns.resize(command + 1);
      ns[command] += span.ns();
      break;
    }
    case SpanKind::kExposedGap:
      open_[StepPart::kIdle] += span.ns() - span.args[0];
      open_[StepPart::kInputs] += span.args[0];
      break;
    case SpanKind::kCheckpointStall: open_[StepPart::kCheckpoint] += span.ns(); break;
    case SpanKind::kEvaluationGap: open_[StepPart::kEvaluation] += span.ns(); break;
    case SpanKind::kDispatch: running_[StepPart::kDispatch] += span.ns(); break;
    case SpanKind::kGradientSums: running_[StepPart::kGradientSums] += span.ns(); break;
    case SpanKind::kExposedComm: running_[StepPart::kAllReduce] += span.ns(); break;
    case SpanKind::kDonationCopies: running_[StepPart::kCopies] += span.ns(); break;
    case SpanKind::kStateCheck: running_[StepPart::kStateCheck] += span.ns(); break;
    case SpanKind::kExecute: end_execution(span); break;
    default: break;  // not one of kKinds
  }
}

void Ledger::end_execution(const Span& execution) {
  LedgerPage page = std::exchange(running_, {});
  const auto reason = static_cast<SyncReason>(execution.args[1]);
  if (!is_step(reason)) {
    open_[reason == SyncReason::kEvaluation ? StepPart::kEvaluation : StepPart::kValueReads] +=
        execution.ns();
    return;
  }
  combine_parts(page, std::exchange(open_, {}), std::plus<>());
  const std::int64_t begin = std::exchange(last_step_end_ns_, execution.end_ns);
  const auto program = programs_.find(execution.args[0]);
  if (program == nullptr) return;
  page.shards = execution.args[2];
  page.wall_ns = execution.end_ns - begin;
  add(program, page);
}

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
  ++steps_;
  total_wall_ns_ += page.wall_ns;
  wall_ns_.push_back(page.wall_ns);
  if (wall_ns_.size() > kMaxSteps) wall_ns_.pop_front();
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
  const auto add_plan = [&](const char* program, const Plan& plan,
                            std::vector<std::int64_t> LedgerPage::*part, std::int64_t calls) {
    if ((totals.sum.*part).empty()) return;
    const auto measured = [&](const LedgerPage& page) {
      return cost_by_class(plan, [&](const Plan&, std::size_t first) {
        return 1e-9 * static_cast<double>((page.*part)[first]);
      });
    };
    const CostByClass sum = measured(totals.sum);
    const CostByClass least = measured(totals.least);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      if (sum[i].launches == 0) continue;
      const std::string work(name_of(static_cast<WorkClass>(i)));
      const double least_ns = 1e9 * least[i].seconds * static_cast<double>(totals.steps);
      add_work(sum[i], static_cast<double>(calls),
               add(program, work, 1e9 * sum[i].seconds, least_ns));
    }
  };
  add_plan("shard", totals.program->shard, &LedgerPage::shard_ns, totals.shard_calls);
  add_plan("update", totals.program->update, &LedgerPage::update_ns, totals.steps);
  for (std::size_t i = 0; i < kStepPartCount; ++i)
    add("step", name_of(static_cast<StepPart>(i)), static_cast<double>(totals.sum.parts_ns[i]),
        static_cast<double>(totals.least.parts_ns[i] * totals.steps));
}

void Ledger::add_commands(const Totals& totals, Sums& to) {
  visit_launches(totals, [&](const Launch& launch, double ns, double least, double calls) {
    const std::string work(name_of(launch.first().work));
    const std::string signature = signature_of(launch);
    LedgerRow& row = to[fmt::format("{} {} {}", launch.is_update, work, signature)];
    row.program = launch.is_update ? "update" : "shard";
    row.work = work;
    if (row.detail.empty()) row.detail = signature + " " + launch.node().origin.to_string();
    row.ms += to_ms(ns);
    row.least_ms += to_ms(least);
    const Work of_launch = launch_work(launch.plan, launch.begin);
    add_work({.launches = 1, .flops = of_launch.flops, .bytes = of_launch.bytes}, calls, row);
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
  if (steps_ == 0) return {};
  Sums sums = folded_classes_;
  for (const Totals& totals : totals_) add_classes(totals, sums);
  const auto steps = static_cast<double>(steps_);
  double other = to_ms(static_cast<double>(total_wall_ns_));
  for (const auto& [key, row] : sums) other -= row.ms;
  std::vector<LedgerRow> out = longest_first(sums, steps);
  std::erase_if(out, [](const LedgerRow& row) { return row.ms == 0; });
  out.push_back({.program = "step", .work = "other", .detail = "", .ms = other / steps});
  return out;
}

std::vector<LedgerRow> Ledger::top_commands(std::size_t limit) const {
  const std::lock_guard lock(mutex_);
  Sums sums = folded_commands_;
  for (const Totals& totals : totals_) add_commands(totals, sums);
  std::vector<LedgerRow> out = longest_first(sums, static_cast<double>(steps_));
  if (out.size() > limit) out.resize(limit);
  return out;
}

std::int64_t Ledger::steps() const {
  const std::lock_guard lock(mutex_);
  return steps_;
}

std::vector<double> Ledger::step_ms() const {
  const std::lock_guard lock(mutex_);
  std::vector<double> out;
  for (const std::int64_t ns : wall_ns_) out.push_back(to_ms(static_cast<double>(ns)));
  return out;
}

double Ledger::mean_step_ms() const {
  const std::lock_guard lock(mutex_);
  return steps_ == 0 ? 0 : to_ms(static_cast<double>(total_wall_ns_)) / static_cast<double>(steps_);
}

std::string Ledger::table(std::size_t top_limit) const {
  const std::vector<double> wall = step_ms();
  if (wall.empty()) return "time ledger: no step ran twice\n";
  const double mean = mean_step_ms();
  std::string out = fmt::format(
      "time ledger: {} steps of {:.3f} ms on average, {:.3f} at least (first step of a program "
      "left "
      "out);\n  rows: mean, share, least, commands\n",
      steps(), mean, *std::min_element(wall.begin(), wall.end()));
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
