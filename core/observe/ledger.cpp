#include "core/observe/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "core/observe/bundle.h"
#include "core/observe/program_table.h"
#include "core/runtime/compiled_step.h"
#include "core/trace/cut_trace.h"

namespace lockstep {
namespace {

constexpr std::array kCommandParts = {&LedgerPage::gradient_ns, &LedgerPage::update_ns};

/// Sets each part of `to` to combine(part, part of the page).
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

/// Whether the executions of a cut for this reason are steps.
bool is_step(SyncReason reason) {
  return reason == SyncReason::kMarkStep || reason == SyncReason::kStepEnd;
}

double to_ms(double ns) {
  return ns * 1e-6;
}

/// Adds to the row with the same key.
void add_row(LedgerRow row, std::map<std::string, LedgerRow>& to) {
  const std::string key =
      fmt::format("{}\n{}\n{}\n{}\n{}", row.program, row.work, row.op, row.module, row.line);
  const auto [found, is_new] = to.try_emplace(key, std::move(row));
  if (!is_new) add_amounts(row, found->second);
}

}  // namespace

void Ledger::on_span(const Span& span) {
  switch (span.kind) {
    case SpanKind::kCommand: {
      std::vector<std::int64_t>& ns = span.args[1] != 0 ? running_.update_ns : running_.gradient_ns;
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
  // What lies before the first execution is no step's.
  if (last_step_end_ns_ == 0) last_step_end_ns_ = execution.begin_ns;
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
  page.step = execution.step;
  page.micro_batches = execution.args[2];
  page.wall_ns = execution.end_ns - begin;
  if (core_wait_) page.core_wait_ns = core_wait_();
  add(program, page);
}

void Ledger::add(const std::shared_ptr<const CompiledStep>& program, const LedgerPage& page) {
  const std::lock_guard lock(mutex_);
  const auto it = std::find_if(totals_.begin(), totals_.end(),
                               [&](const Totals& totals) { return totals.program == program; });
  if (it == totals_.end()) {
    if (!totals_.empty() && totals_.size() >= max_programs_) fold_oldest();
    totals_.push_back({program, 0, 0, {}, {}});
    ++left_out_;
    times_.add(page, true);
    return;
  }
  std::rotate(it, it + 1, totals_.end());
  Totals& totals = totals_.back();
  totals.steps += 1;
  totals.gradient_calls += page.micro_batches;
  if (totals.steps == 1) {
    totals.sum = totals.min = page;
  } else {
    combine_parts(totals.sum, page, std::plus<>());
    combine_parts(totals.min, page, [](auto a, auto b) { return std::min(a, b); });
  }
  ++steps_;
  total_wall_ns_ += page.wall_ns;
  times_.add(page, false);
}

void Ledger::add_plan(const Totals& totals, bool is_update, const ProgramCosts& costs,
                      Sums& to) const {
  const Plan& plan = is_update ? totals.program->update : totals.program->gradient;
  const auto part = is_update ? &LedgerPage::update_ns : &LedgerPage::gradient_ns;
  const std::vector<BundleCost>& cost = is_update ? costs.update : costs.gradient;
  const auto calls = static_cast<double>(is_update ? totals.steps : totals.gradient_calls);
  const std::vector<std::int64_t>& ns = totals.sum.*part;
  for (std::size_t begin = 0; begin < ns.size(); begin = next_bundle(plan, begin)) {
    const CommandBundle bundle{plan, begin, next_bundle(plan, begin), is_update};
    const Work work = bundle_work(plan, begin);
    LedgerRow row{.program = is_update ? "update" : "gradient",
                  .work = std::string(name_of(bundle.first().work)),
                  .op = signature_of(bundle),
                  .module = std::string(bundle.node().origin.scope),
                  .line = source_line(bundle.node()),
                  .ms = to_ms(static_cast<double>(ns[begin])),
                  .min_ms = to_ms(static_cast<double>((totals.min.*part)[begin] * totals.steps)),
                  .lower_bound_ms = 1e3 * lower_bounds_(plan, begin) * calls,
                  .commands = calls,
                  .flops = work.flops * calls,
                  .bytes = work.bytes * calls};
    if (bundle.node().op == Op::kFusion) row.fused_ms = row.ms;
    if (!cost.empty()) {
      row.virtual_ms = 1e3 * cost[begin].seconds * calls;
      row.virtual_lower_bound_ms = 1e3 * cost[begin].lower_bound * calls;
    }
    add_row(std::move(row), to);
  }
}

void Ledger::add_rows(const Totals& totals, Sums& to) const {
  const ProgramCosts costs = costs_ ? costs_(*totals.program) : ProgramCosts{};
  add_plan(totals, false, costs, to);
  add_plan(totals, true, costs, to);
  const auto steps = static_cast<double>(totals.steps);
  const auto calls = static_cast<double>(totals.gradient_calls);
  for (std::size_t i = 0; i < kStepPartCount; ++i) {
    const auto part = static_cast<StepPart>(i);
    const double virtual_s = part == StepPart::kDispatch       ? costs.dispatch * calls
                             : part == StepPart::kGradientSums ? costs.sums * (calls - steps)
                                                               : 0;
    if (totals.sum.parts_ns[i] == 0 && virtual_s == 0) continue;
    const auto min = static_cast<double>(totals.min.parts_ns[i] * totals.steps);
    add_row({.program = "step",
             .work = name_of(part),
             .ms = to_ms(static_cast<double>(totals.sum.parts_ns[i])),
             .min_ms = to_ms(min),
             .virtual_ms = 1e3 * virtual_s},
            to);
  }
  if (costs.waits > 0)
    add_row({.program = "step", .work = kOtherPart, .virtual_ms = 1e3 * costs.waits * steps}, to);
}

void Ledger::fold_oldest() {
  add_rows(totals_.front(), folded_);
  totals_.erase(totals_.begin());
  while (folded_.size() > kMaxFolded) {
    // Other parts and groups stay: they are few.
    const auto ms = [](const auto& entry) {
      return entry.second.op.empty() ? std::numeric_limits<double>::infinity() : entry.second.ms;
    };
    LedgerRow row = std::move(folded_.extract(std::ranges::min_element(folded_, {}, ms)).mapped());
    row.op.clear();
    row.module.clear();
    row.line.clear();
    add_row(std::move(row), folded_);
  }
}

std::vector<LedgerRow> Ledger::rows() const {
  const std::lock_guard lock(mutex_);
  if (steps_ == 0) return {};
  Sums sums = folded_;
  for (const Totals& totals : totals_) add_rows(totals, sums);
  LedgerRow other{
      .program = "step", .work = kOtherPart, .ms = to_ms(static_cast<double>(total_wall_ns_))};
  std::vector<LedgerRow> out;
  for (auto& [key, row] : sums) {
    other.ms -= row.ms;
    if (row.is_bundle() || row.work != kOtherPart)
      out.push_back(std::move(row));
    else
      other.virtual_ms += row.virtual_ms;
  }
  out.push_back(std::move(other));
  for (LedgerRow& row : out) scale_amounts(row, 1 / static_cast<double>(steps_));
  return out;
}

std::int64_t Ledger::steps() const {
  const std::lock_guard lock(mutex_);
  return steps_;
}

std::int64_t Ledger::left_out() const {
  const std::lock_guard lock(mutex_);
  return left_out_;
}

LedgerSteps Ledger::last_steps() const {
  const std::lock_guard lock(mutex_);
  return times_;
}

std::optional<MeasuredProgram> Ledger::main_program() const {
  const std::lock_guard lock(mutex_);
  // A training step has a gradient program; a program that marks steps of its own may have others.
  const auto most = std::ranges::max_element(totals_, {}, [](const Totals& totals) {
    return std::pair(totals.program->has_gradient_program(), totals.steps);
  });
  if (most == totals_.end() || most->steps == 0) return std::nullopt;
  const auto steps = static_cast<double>(most->steps);
  MeasuredProgram out{.program = most->program,
                      .steps = most->steps,
                      .micro_batches = static_cast<double>(most->gradient_calls) / steps,
                      .gradient_ms = {},
                      .update_ms = {}};
  for (const std::int64_t ns : most->sum.gradient_ns)
    out.gradient_ms.push_back(to_ms(static_cast<double>(ns)) / steps);
  for (const std::int64_t ns : most->sum.update_ns)
    out.update_ms.push_back(to_ms(static_cast<double>(ns)) / steps);
  return out;
}

double Ledger::mean_step_ms() const {
  const std::lock_guard lock(mutex_);
  return steps_ == 0 ? 0 : to_ms(static_cast<double>(total_wall_ns_)) / static_cast<double>(steps_);
}

}  // namespace lockstep
