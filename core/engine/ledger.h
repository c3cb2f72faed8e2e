// The time ledger: where the wall time of steps goes, as the device's thread sees it.
//
// A step lasts from the end of the execution before it to its own end. Of that,
//   idle        is until its first command could start: waiting for the host or for inputs;
//   commands    are the time of each command, by program and kernel class; commands that run at
//               once count as one. The update program's fused kernels are called "optimizer";
//               "host call" is a function on the host with the copies of its operands and results;
//   gradient sums  add the shards of this rank and hand buckets to the communicator;
//   all-reduce  is waiting for buckets after the last command of the shard program (exposed);
//   state check hashes a part of the state, see state_check.h;
//   copies      save donated memory that somebody still reads;
//   dispatch    is the rest: reserving memory, publishing results; and, where the host has no core
//               of its own, the trace of the next step, for which publishing wakes it.
// The rows sum to the wall time by construction. What a value read, an evaluation or a checkpoint
// executes is not a step. The first step of each program is left out: it waits for the compiler.
// Beside the mean stands the least time of each part over the steps: what is much above it was
// disturbed (by another process, the other rank's use of memory, a virtual machine's host).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/engine/compile.h"

namespace lockstep {

/// The times of one step.
struct LedgerPage {
  std::vector<std::int64_t> shard_ns;   ///< per command, over all shards; see PlanContext
  std::vector<std::int64_t> update_ns;  ///< per command
  std::int64_t shards = 1;              ///< calls of the shard program
  std::int64_t gradient_sums_ns = 0;
  std::int64_t all_reduce_ns = 0;
  std::int64_t copies_ns = 0;
  std::int64_t state_check_ns = 0;
  std::int64_t idle_ns = 0;
  std::int64_t wall_ns = 0;
};

/// Adds the time from construction to destruction; does nothing if `to` is null.
class LedgerTimer {
 public:
  LedgerTimer(std::int64_t* to, const Clock& clock)
      : to_(to), clock_(clock), begin_ns_(to == nullptr ? 0 : clock.now_ns()) {}
  ~LedgerTimer() {
    if (to_ != nullptr) *to_ += clock_.now_ns() - begin_ns_;
  }
  LedgerTimer(const LedgerTimer&) = delete;
  LedgerTimer& operator=(const LedgerTimer&) = delete;

 private:
  std::int64_t* to_;
  const Clock& clock_;
  std::int64_t begin_ns_;
};

/// A line of the ledger: means over the steps.
struct LedgerRow {
  std::string program;  ///< "shard", "update" or "step"
  std::string work;     ///< the kernel class, or what else took the time
  std::string detail;   ///< of a row of top_commands(): op, types, where
  double ms = 0;        ///< a step
  double least_ms = 0;  ///< the same with the least time of each command; not for dispatch and idle
  double commands = 0;  ///< a step
  double flops = 0;     ///< a step
  double bytes = 0;     ///< a step, read and written
};

/// Sums of pages. Those of a program that no step has run for long are kept as rows, without the
/// program. Thread-safe.
class Ledger {
 public:
  /// Keeps pages of so many programs apart, at least of one: of as many as the compile cache has.
  explicit Ledger(std::size_t max_programs = 256) : max_programs_(max_programs) {}

  void add(const std::shared_ptr<const CompiledStep>& program, const LedgerPage& page);

  /// By class of work, the longest first; "dispatch" and "idle" last. They sum to mean_step_ms().
  std::vector<LedgerRow> rows() const;
  /// By kernel class, op and types: what a model computes once per layer is one row. The longest
  /// first, at most `limit`. Of old programs only the kMaxCommands longest rows are known.
  std::vector<LedgerRow> top_commands(std::size_t limit) const;
  /// The wall time of each measured step, in order.
  std::vector<double> step_ms() const;
  double mean_step_ms() const;  ///< 0 without steps

  /// rows() and top_commands() with percents, GFLOP/s and GB/s, for people.
  std::string table(std::size_t top_limit) const;

 private:
  struct Totals {
    std::shared_ptr<const CompiledStep> program;
    std::int64_t steps = 0;
    std::int64_t shard_calls = 0;
    LedgerPage sum;    ///< of all but the first page
    LedgerPage least;  ///< of each part of all but the first page
  };
  /// By what makes commands one row: `ms` and all else of a row are sums over all steps.
  using Sums = std::map<std::string, LedgerRow>;
  static constexpr std::size_t kMaxCommands = 1024;

  template <class Visit>
  static void visit_launches(const Totals& totals, const Visit& visit);
  static void add_classes(const Totals& totals, Sums& to);
  static void add_commands(const Totals& totals, Sums& to);
  void fold_oldest();

  std::size_t max_programs_;
  mutable std::mutex mutex_;
  std::vector<Totals> totals_;  ///< the program that ran last comes last
  Sums folded_classes_;         ///< of programs that are not in totals_ any more
  Sums folded_commands_;
  std::vector<std::int64_t> wall_ns_;
};

}  // namespace lockstep
