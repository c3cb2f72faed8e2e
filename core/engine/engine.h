// The engine joins trace, compiler and device: mark_step cuts the trace, finds or compiles its
// program, hands it to the device and returns at once, with placeholders in the live tensors.
//
// An error of an execution poisons its outputs and stops what is queued behind it; it surfaces,
// with the step it belongs to, at the next mark_step or wait (once) and at every read of a poisoned
// value. Variables keep their last good values if the step never reached its update (device out of
// memory, a lost rank, a step that does not compile).
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/log.h"
#include "core/engine/analysis.h"
#include "core/engine/compile.h"
#include "core/engine/cuts.h"
#include "core/engine/execution.h"
#include "core/engine/nonfinite.h"
#include "core/engine/step_compiler.h"
#include "core/runtime/communicator.h"
#include "core/runtime/device.h"
#include "core/trace/context.h"
#include "core/trace/reads.h"

namespace lockstep {

class Engine final : private ReadObserver {
 public:
  /// All references must outlive the engine. Installs itself as the context's sync handler; steps
  /// may call the context's host functions.
  Engine(const CompileOptions& options, TraceContext& context, Device& device,
         Communicator& communicator, Log& log);
  /// Waits for the device.
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const CompileOptions& options() const { return options_; }
  TraceContext& context() { return context_; }
  Device& device() { return device_; }

  /// A tensor whose value is copied to the device: one host tensor, or for InputKind::kBatch one
  /// per logical shard of this rank.
  Tensor to_device(std::vector<HostTensor> shards, InputKind kind, std::string_view name);
  /// The same for a copy that was started before (device prefetch).
  Tensor adopt(DeviceTensorPtr value, InputKind kind, std::string_view name);

  /// Cuts, compiles on a miss, queues; blocks only while the device's queue is full. Rethrows the
  /// error of an earlier execution; then nothing was cut. Error kUsage for a step that cannot be
  /// split, see split_step.h. Of training steps and evaluations several may be in flight
  /// (DeviceOptions): the first of them sets room aside for the results of so many. `where`: the
  /// line of the user's that cut it.
  void mark_step(SyncReason reason = SyncReason::kMarkStep,
                 const std::source_location& where = std::source_location::current());
  /// Waits until everything queued has run, and rethrows its error if there was one.
  void wait();

  /// Copies what the steps queued so far make of `values` (computed, or queued to be) into `to`,
  /// one of its type for each, as a command of the stream: nothing waits for it but the steps
  /// queued later. The event fails with the error of a step before it. How long the device did not
  /// compute is a kCheckpointStall when it goes on.
  /// Where the state is checked, all ranks call it, some perhaps without values: the same command
  /// hashes all that the last training step updated, and the first collective of the next one
  /// compares it. If that step succeeds, what was copied is what all ranks have.
  EventPtr snapshot(std::span<const Tensor> values, std::vector<HostTensor> to);

  /// The number that messages, spans and collectives give to what is queued from now on.
  void set_step(std::int64_t step) { step_ = step; }
  /// The step's batch was taken: a value that is read from now on to mark_step is a graph break.
  void begin_step() { in_step_ = true; }
  /// It will not be made into a step after all.
  void end_step() { in_step_ = false; }
  /// Batches are padded to one of these lengths: a program for each was asked for.
  void batches_are_padded_to(std::span<const std::int64_t> lengths) {
    compiler_.journal().batches_are_padded_to(lengths);
  }
  /// From now on such a read is an error kUsage that names its line.
  void forbid_reads() { reads_forbidden_ = true; }
  const Cuts& cuts() const { return *cuts_; }

  /// What the next cut and its execution are called in spans.
  std::uint64_t next_correlation() const { return next_correlation_; }
  /// By the numbers that the spans of commands tell.
  const ProgramTable& programs() const { return compiler_.programs(); }

  /// From now on every training step (SyncReason::kStepEnd) hashes one part in `interval` of what
  /// it updated, see state_check.h, and the next one compares it with the other ranks'. A
  /// difference is a kPeer error of the next step. Nothing for a single rank.
  void start_state_check(std::int64_t interval);
  bool checks_state() const { return state_watch_ != nullptr; }
  /// The first collective of the next training step carries this, too: called by all ranks, or by
  /// none. The error of a difference is one of that step.
  void carry(CarriedDigestPtr digest) { carried_ = std::move(digest); }
  /// Called by all ranks: waits for the device, and compares all that the last training step
  /// updated; if a snapshot was made of it, as it was then. Error kPeer.
  void compare_whole_state();

  /// Cuts the trace, but does not run it: looks for the first value of its shard program that is
  /// not finite (nonfinite.h). The trace's tensors have no values afterwards.
  std::optional<NonFiniteValue> find_nonfinite();

  /// Cuts and compiles without running, for dry runs: no kernel is built, no tensor needs memory,
  /// and the trace's have no values afterwards.
  std::shared_ptr<const CompiledStep> compile_pending();

  /// Why programs were compiled or loaded so far.
  const CauseTally& compilations();
  /// Told of every program that is compiled or loaded from now on, on this thread.
  void set_compilation_listener(CompilationListener listener);

 private:
  struct Failure;
  /// When the device last ended an execution, of what, and whether a snapshot followed it. Of the
  /// stream.
  struct LastExecution {
    SyncReason reason = SyncReason::kMarkStep;
    std::int64_t end_ns = 0;
    bool snapshot = false;
  };
  CutTrace cut();
  std::string line_of(const std::source_location& where) const;
  void begin_read(const Tensor& tensor, const std::source_location& where) override;
  void end_read() override;
  void name_reads(std::string_view name, std::int64_t step) override;
  void fail_outputs(const StepExecution& execution, const char* why);
  std::shared_ptr<StepExecution> start_execution(const CutTrace& trace, SyncReason reason);
  void analyze(const CutTrace& trace);
  void explain(StepExecution& execution, const std::source_location& where);
  void enqueue(std::shared_ptr<StepExecution> execution, std::exception_ptr error);
  std::int64_t end_gap(const StepExecution& execution, const LastExecution& last,
                       std::exception_ptr& error);
  void rethrow_failure();

  CompileOptions options_;
  TraceContext& context_;
  Device& device_;
  Communicator& communicator_;
  Log& log_;
  StepCompiler compiler_;
  const std::unique_ptr<Cuts> cuts_ = std::make_unique<Cuts>();
  Analysis analysis_;
  std::shared_ptr<Failure> failure_;
  std::shared_ptr<StateWatch> state_watch_;  ///< null: nothing is checked
  CarriedDigestPtr carried_;
  std::int64_t step_ = 0;
  std::uint64_t next_correlation_ = 1;
  std::shared_ptr<LastExecution> last_execution_;
  bool in_step_ = false;
  bool reads_forbidden_ = false;
  Cuts::RowId open_read_ = Cuts::kNoRow;
  std::int64_t read_begin_ns_ = 0;
  std::string read_name_;  ///< of a step's number; empty: any tensor
  std::int64_t read_step_ = 0;
  Cuts::RowId drained_by_ = Cuts::kNoRow;  ///< the read that the next execution comes after
  std::shared_ptr<Reservation> results_;   ///< of steps whose results are read late
};

}  // namespace lockstep
