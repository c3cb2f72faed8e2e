#include "trainer/devices/row_times.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "core/observe/ledger.h"

namespace lockstep {
namespace {

/// The time of the dots, convolutions and attentions that a node computes; a fusion may hold some.
KernelTime heavy_time(const Graph& graph, ValueId id, const DeviceRates& rates) {
  const Node& node = graph[id];
  if (is_heavy_kernel(node)) return rates.heavy(heavy_kernel(graph, id));
  KernelTime out;
  if (node.body == nullptr) return out;
  for (ValueId inner = 0; inner < node.body->size(); ++inner)
    out = out + heavy_time(*node.body, inner, rates);
  return out;
}

/// Those of a plan's bundles (a copy may also be of a product), at their first commands; `all`
/// seconds in sum, if there are any.
std::vector<KernelTime> heavy_times(const Plan& plan, const DeviceRates& rates, double all) {
  std::vector<KernelTime> out(plan.commands.size());
  double sum = 0;
  for (std::size_t first = 0; first < plan.commands.size(); first = next_bundle(plan, first)) {
    for (std::size_t c = first; c < next_bundle(plan, first); ++c)
      if (const Command& command = plan.commands[c]; command.kind == CommandKind::kKernel)
        out[first] = out[first] + heavy_time(plan.graph, command.value, rates);
    sum += out[first].seconds;
  }
  if (sum > 0)
    for (KernelTime& time : out) time = all / sum * time;
  return out;
}

/// `heavy` of the bundles that have such kernels; the others divide `rest` by their bytes.
std::vector<BundleCost> divided(const Plan& plan, const std::vector<KernelTime>& heavy,
                                const BundleCost& rest) {
  std::vector<double> bytes(plan.commands.size(), 0);
  double all = 0;
  for (std::size_t first = 0; first < bytes.size(); first = next_bundle(plan, first)) {
    if (heavy[first].seconds > 0) continue;
    bytes[first] = bundle_work(plan, first).bytes;
    all += bytes[first];
  }
  std::vector<BundleCost> out;
  out.reserve(bytes.size());
  for (std::size_t c = 0; c < bytes.size(); ++c) {
    const double share = all > 0 ? bytes[c] / all : 0;
    out.push_back(
        {heavy[c].seconds + share * rest.seconds, heavy[c].limit() + share * rest.lower_bound});
  }
  return out;
}

/// A kernels' part of a step, of which each of `calls` has the same.
BundleCost once(const TimePart& part, double calls) {
  return {part.seconds / calls, std::min(part.data_sheet + part.assumed, part.seconds) / calls};
}

std::vector<BundleCost> measured_costs(const Plan& plan, const BundleSeconds& expected,
                                       const BundleSeconds& lower_bounds) {
  std::vector<BundleCost> out(plan.commands.size());
  for (std::size_t first = 0; first < out.size(); first = next_bundle(plan, first))
    out[first] = {expected(plan, first), lower_bounds(plan, first)};
  return out;
}

/// Rows whose times the virtual clock has as one.
enum class RowGroup : std::uint8_t { kGradient, kUpdate };

std::optional<RowGroup> group_of(const LedgerRow& row) {
  if (row.program == "gradient") return RowGroup::kGradient;
  if (row.program == "update") return RowGroup::kUpdate;
  if (row.work == name_of(StepPart::kGradientSums) || row.work == name_of(StepPart::kDispatch))
    return RowGroup::kGradient;
  if (row.work == kOtherPart) return RowGroup::kUpdate;
  return std::nullopt;
}

/// The row of that part of a step. One that took no time here has none yet; "other" stays last.
LedgerRow& row_of_part(std::string_view work, std::vector<LedgerRow>& rows) {
  const auto found = std::ranges::find_if(
      rows, [&](const LedgerRow& row) { return !row.is_bundle() && row.work == work; });
  if (found != rows.end()) return *found;
  const bool has_other =
      !rows.empty() && !rows.back().is_bundle() && rows.back().work == kOtherPart;
  return *rows.insert(has_other ? rows.end() - 1 : rows.end(),
                      {.program = "step", .work = std::string(work)});
}

/// What no row of the group can take goes to "other", so that group is fitted first.
void fit_group(RowGroup group, double ms, std::vector<LedgerRow>& rows) {
  double modelled = 0;
  for (const LedgerRow& row : rows)
    if (group_of(row) == group) modelled += row.virtual_ms;
  if (modelled <= 0) {
    row_of_part(kOtherPart, rows).virtual_ms += ms;
    return;
  }
  const double factor = ms / modelled;
  for (LedgerRow& row : rows) {
    if (group_of(row) != group) continue;
    row.virtual_ms *= factor;
    row.virtual_lower_bound_ms = std::min(row.virtual_lower_bound_ms, row.virtual_ms);
  }
}

}  // namespace

ProgramCosts costs_by_rates(const CompiledStep& step, const StepTime& time,
                            std::int64_t micro_batches, const DeviceRates& rates) {
  const auto calls = static_cast<double>(micro_batches);
  const Plan& gradient = step.gradient;
  const Plan& update = step.update;
  const BundleCost elementwise = once(time.part(kElementwisePart), calls);
  const double dispatch = (time.part(kGapsPart).seconds + time.part(kDispatchPart).seconds) / calls;
  const double heavy = seconds_of(time.durations.micro_batch_ns) - elementwise.seconds - dispatch;
  return {.gradient = divided(gradient, heavy_times(gradient, rates, heavy), elementwise),
          .update = divided(update, std::vector<KernelTime>(update.commands.size()),
                            once(time.part(kOptimizerPart), 1)),
          .dispatch = dispatch,
          .sums = seconds_of(time.durations.sums_ns),
          .waits = seconds_of(time.durations.waits_ns)};
}

ProgramCosts costs_by_limits(const CompiledStep& step, const MachineLimits& limits,
                             const StepPlacement& placement) {
  const StepCost cost = step_cost(step, limits, placement);
  const BundleSeconds expected = expected_of_bundles(limits, placement);
  const BundleSeconds lower_bounds = lower_bounds_of_bundles(limits, placement.cores);
  return {.gradient = measured_costs(step.gradient, expected, lower_bounds),
          .update = measured_costs(step.update, expected, lower_bounds),
          .sums = seconds_of(cost.durations.sums_ns),
          .waits = cost.waits + cost.overhead};
}

void fit_virtual_times(const VirtualTotals& totals, std::vector<LedgerRow>& rows) {
  const auto mean_ms = [&](std::int64_t ns) {
    return static_cast<double>(ns) / static_cast<double>(totals.steps) * 1e-6;
  };
  fit_group(RowGroup::kUpdate, mean_ms(totals.update_ns), rows);
  fit_group(RowGroup::kGradient, mean_ms(totals.gradient_ns), rows);
  std::int64_t rest_ns = totals.all_ns - totals.gradient_ns - totals.update_ns;
  for (const auto& [part, ns] : {std::pair{StepPart::kAllReduce, totals.exposed_comm_ns},
                                 {StepPart::kIdle, totals.exposed_gap_ns},
                                 {StepPart::kInputs, totals.input_wait_ns}}) {
    if (ns > 0) row_of_part(name_of(part), rows).virtual_ms = mean_ms(ns);
    rest_ns -= ns;
  }
  if (rest_ns > 0) row_of_part(kOtherPart, rows).virtual_ms += mean_ms(rest_ns);
}

}  // namespace lockstep
