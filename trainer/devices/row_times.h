// What each row of a ledger takes in virtual time: the model's time of each bundle of this
// machine's plans and of each other part of a step, and how they become rows that sum to the
// virtual step.
#pragma once

#include <cstdint>
#include <vector>

#include "core/cost/product_time.h"
#include "core/cost/step_time.h"
#include "core/observe/ledger_rows.h"
#include "core/observe/program_costs.h"
#include "core/runtime/step_cost.h"
#include "core/virtual_time/virtual_clock.h"

namespace lockstep {

/// By the cost model. A bundle of dots, convolutions or attentions takes what these take, scaled to
/// what those of the recorded step take in all, which differ where this machine runs one kind as
/// another. The other bundles of the gradient program divide its elementwise time by the bytes that
/// they read and write, those of the update program the optimizer's. `time`: of the step with
/// `micro_batches`.
ProgramCosts costs_by_rates(const CompiledStep& step, const StepTime& time,
                            std::int64_t micro_batches, const DeviceRates& rates);

/// By the limits that were measured of this machine. What the host needs counts as waits.
ProgramCosts costs_by_limits(const CompiledStep& step, const MachineLimits& limits,
                             const StepPlacement& placement);

/// Makes the virtual times of a ledger's rows, which are the model's, those of the run: the rows of
/// the gradient program with sums and dispatch sum to its mean time, those of the update program
/// with "other" to its; waits get their rows, and what is left goes to "other". So all sum to the
/// mean virtual step. A device that was slowed is so in all of its bundles.
void fit_virtual_times(const VirtualTotals& totals, std::vector<LedgerRow>& rows);

}  // namespace lockstep
