// The time ledger: where the wall time of steps goes, from the spans of the device's thread.
//
// A step lasts from the end of the step before it to its own end. Of that,
//   idle        is the device waiting for the host;
//   inputs      waiting for copies to it;
//   commands    are the time of each command, by program and class of work; commands that run at
//               once count as one. The update program's fused kernels are called "optimizer";
//               "host call" is a function on the host with the copies of its operands and results;
//   gradient sums  add the micro-batches of this rank and submit buckets to the communicator;
//   all-reduce  is waiting for buckets after the last command of the gradient program (exposed),
//               and until others have read the last ones before gradients overwrite them;
//   state check hashes a part of the state, see state_check.h;
//   copies      save donated memory that is still read;
//   dispatch    reserves memory and publishes results. Publishing wakes the host, which traces the
//               next step: without a core of its own for the host, that trace is in it, too;
//   checkpoint  is the pause in which a snapshot lies;
//   evaluation  is a pause for one: its executions and the gaps between them;
//   value reads are executions because a value was read, between steps;
//   other       is the rest: clock readings, giving memory back.
// The rows sum to the wall time by construction. The first step of each program is left out: it
// waits for the compiler. Beside the mean stands the minimum time of each part over the steps. A
// mean far above it was probably slowed by other load (another process, the other rank's use of
// memory, a virtual machine's host).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/spans.h"
#include "core/observe/ledger_page.h"
#include "core/observe/ledger_rows.h"
#include "core/observe/ledger_steps.h"
#include "core/observe/program_costs.h"
#include "core/runtime/plan_cost.h"

namespace lockstep {

class ProgramTable;
struct CompiledStep;

/// A program with the means of its measured steps.
struct MeasuredProgram {
  std::shared_ptr<const CompiledStep> program;
  std::int64_t steps = 0;
  double micro_batches = 1;         ///< calls of the gradient program in a step
  std::vector<double> gradient_ms;  ///< per command, of a step; a bundle's time is at its first
  std::vector<double> update_ms;    ///< the same
};

/// Sums of pages. Sums of a program that has not run for long are kept as rows, without the
/// program; the times of the last LedgerSteps::kMaxSteps steps are kept one by one. Thread-safe.
class Ledger final : public SpanListener {
 public:
  /// The kinds that it needs, see SpanStream::listen.
  static constexpr SpanKinds kKinds{SpanKind::kExposedGap,     SpanKind::kCheckpointStall,
                                    SpanKind::kEvaluationGap,  SpanKind::kExecute,
                                    SpanKind::kDispatch,       SpanKind::kCommand,
                                    SpanKind::kGradientSums,   SpanKind::kExposedComm,
                                    SpanKind::kDonationCopies, SpanKind::kStateCheck};
  static constexpr std::size_t kMaxPrograms = 256;

  /// For an engine's programs; `lower_bounds` gives the lower bound of a bundle's time. Keeps
  /// separate pages for `max_programs` programs, at least one: as many as the compile cache holds.
  /// With `costs`, rows also have virtual times, as the cost model has them for each program.
  /// `core_wait` gives the nanoseconds since its last call for which a thread of the device had no
  /// core; it is called at the end of each step, on the device's thread.
  Ledger(const ProgramTable& programs, BundleSeconds lower_bounds,
         std::size_t max_programs = kMaxPrograms, CostsOfProgram costs = {},
         std::function<std::int64_t()> core_wait = {})
      : programs_(programs),
        lower_bounds_(std::move(lower_bounds)),
        max_programs_(max_programs),
        costs_(std::move(costs)),
        core_wait_(std::move(core_wait)) {}

  void on_span(const Span& span) override;
  void add(const std::shared_ptr<const CompiledStep>& program, const LedgerPage& page);

  /// A row for each bundle of the programs and each other part of a step, "other" last. They sum to
  /// mean_step_ms(). Of old programs the kMaxFolded longest rows are kept, the others by class.
  std::vector<LedgerRow> rows() const;
  std::int64_t steps() const;      ///< that were measured
  std::int64_t left_out() const;   ///< the first of each program
  LedgerSteps last_steps() const;  ///< of the last steps one by one, those left out as well
  double mean_step_ms() const;     ///< 0 without steps
  /// Whether the times for which the device had no core are known.
  bool knows_core_wait() const { return core_wait_ != nullptr; }
  /// The program of which most steps were measured; nothing without steps.
  std::optional<MeasuredProgram> main_program() const;

 private:
  struct Totals {
    std::shared_ptr<const CompiledStep> program;
    std::int64_t steps = 0;
    std::int64_t gradient_calls = 0;
    LedgerPage sum;  ///< of all but the first page
    LedgerPage min;  ///< of each part of all but the first page
  };
  /// By the key of a row of bundles; all amounts are sums over all steps.
  using Sums = std::map<std::string, LedgerRow>;
  static constexpr std::size_t kMaxFolded = 1024;

  void add_rows(const Totals& totals, Sums& to) const;
  void add_plan(const Totals& totals, bool is_update, const ProgramCosts& costs, Sums& to) const;
  void fold_oldest();
  void end_execution(const Span& execution);

  const ProgramTable& programs_;
  BundleSeconds lower_bounds_;
  std::size_t max_programs_;
  CostsOfProgram costs_;
  std::function<std::int64_t()> core_wait_;
  // Of the device's thread:
  LedgerPage open_;     ///< of the step that is under way, until its execution begins
  LedgerPage running_;  ///< of the execution that is under way
  std::int64_t last_step_end_ns_ = 0;

  mutable std::mutex mutex_;
  std::vector<Totals> totals_;  ///< the program that ran last comes last
  Sums folded_;                 ///< of programs that are not in totals_ any more
  LedgerSteps times_;
  std::int64_t steps_ = 0;
  std::int64_t left_out_ = 0;
  std::int64_t total_wall_ns_ = 0;
};

}  // namespace lockstep
