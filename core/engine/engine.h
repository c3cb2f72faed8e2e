// The engine joins trace, compiler and device: mark_step cuts the trace, finds or compiles its
// program, hands it to the device and returns at once, with placeholders in the live tensors.
//
// An error of an execution poisons its outputs and stops the executions queued after it. It is
// rethrown, with its step, once by the next mark_step or wait, and by every read of a poisoned
// value. Variables keep their last good values if the step never reached its update (device out of
// memory, a lost rank, a step that does not compile).
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/carried_digest.h"
#include "core/base/event.h"
#include "core/base/phase_scope.h"
#include "core/observe/cuts.h"
#include "core/runtime/device_tensor.h"
#include "core/trace/cut_trace.h"
#include "core/trace/reads.h"

namespace lockstep {

class Analysis;
class CauseTally;
class Communicator;
class Device;
class Log;
class ProgramTable;
class Reservation;
class StateWatch;
class StepCompiler;
struct CompilationRecord;
struct CompileOptions;
struct CompiledStep;
struct NonFiniteValue;
struct StepExecution;

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

  const CompileOptions& options() const { return *options_; }
  TraceContext& context() { return context_; }
  Device& device() { return device_; }

  /// A tensor whose value is copied to the device: one host tensor, or for InputKind::kBatch one
  /// per micro-batch of this rank.
  Tensor to_device(std::vector<HostTensor> micro_batches, InputKind kind, std::string_view name);
  /// The same for a copy that was started before (device prefetch).
  Tensor adopt(DeviceTensorPtr value, InputKind kind, std::string_view name);

  /// Cuts, compiles on a miss, queues; blocks only while the device's queue is full. Rethrows the
  /// error of an earlier execution; then nothing was cut. Error kUsage for a step that cannot be
  /// split, see split_step.h. Several training steps and evaluations may be in flight
  /// (DeviceOptions): the first one reserves room for the results of as many. `where`: the user's
  /// line that made the cut.
  void mark_step(SyncReason reason = SyncReason::kMarkStep,
                 const std::source_location& where = std::source_location::current());
  /// Waits until everything queued has run, and rethrows its error if there was one.
  void wait();

  /// Copies `values`, as they are after the steps queued so far, into `to`, which has a tensor of
  /// the same type for each. The copy is a command of the stream: only steps queued later wait for
  /// it. The event fails with the error of a step before it. The time for which the device did not
  /// compute becomes a kCheckpointStall when it continues. If the state is checked, all ranks call
  /// this, some perhaps without values: the same command hashes all that the last training step
  /// updated, and the first collective of the next step compares the hash. If that step succeeds,
  /// all ranks have the state that was copied.
  EventPtr snapshot(std::span<const Tensor> values, std::vector<HostTensor> to);

  /// The step number in messages, spans and collectives for executions queued from now on.
  void set_step(std::int64_t step) {
    step_ = step;
    has_steps_ = true;
  }
  /// The step's batch was taken: a value that is read from now on to mark_step is a graph break.
  void begin_step() { in_step_ = true; }
  /// The batch is not used for a step.
  void end_step() { in_step_ = false; }
  /// Data loaders pad these dimensions of batches, "batch.tokens[length]", to one of these lengths,
  /// if there are any: a program for each of them is expected.
  void batches_are_padded(std::span<const std::string> dimensions,
                          std::span<const std::int64_t> lengths);
  /// From now on a graph break is an error kUsage that names its line.
  void forbid_reads() { reads_forbidden_ = true; }
  const Cuts& cuts() const { return *cuts_; }

  /// The correlation id of the next cut and its execution in spans.
  std::uint64_t next_correlation() const { return next_correlation_; }
  /// By the numbers in the spans of commands.
  const ProgramTable& programs() const;

  /// From now on every training step (SyncReason::kStepEnd) hashes one part in `interval` of what
  /// it updated, see state_check.h, and the next step compares it with the other ranks'. A
  /// difference is a kPeer error of the next step. No effect for a single rank.
  void start_state_check(std::int64_t interval);
  bool checks_state() const { return state_watch_ != nullptr; }
  /// The first collective of the next training step carries this digest, too. Call it on all ranks,
  /// or on none. A difference is an error of that step.
  void carry(CarriedDigestPtr digest) { carried_ = std::move(digest); }
  /// Called by all ranks. Waits for the device, and compares all that the last training step
  /// updated (as it was at the snapshot, if one was made of it). Error kPeer if it differs.
  void compare_whole_state();

  /// Cuts the trace without running it, and searches for the first value of its gradient program
  /// that is not finite (nonfinite.h). The trace's tensors have no values afterwards.
  std::optional<NonFiniteValue> find_nonfinite();

  /// Cuts and compiles without running, for dry runs: no kernel is built, no tensor needs memory,
  /// and the trace's tensors have no values afterwards.
  std::shared_ptr<const CompiledStep> compile_pending();

  /// The causes of all compilations and loads so far.
  const CauseTally& compilations();
  /// The listener is called for every program that is compiled or loaded from now on, on this
  /// thread.
  void set_compilation_listener(std::function<void(const CompilationRecord&)> listener);

 private:
  struct Failure;
  /// When the device last ended an execution, its kind, and whether a snapshot followed it. Used by
  /// the stream only.
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
  void note_virtual_work(StepExecution& execution);
  std::shared_ptr<StepExecution> start_execution(const CutTrace& trace, SyncReason reason);
  void analyze(const CutTrace& trace);
  void explain(StepExecution& execution, const std::source_location& where);
  void enqueue(std::shared_ptr<StepExecution> execution, std::exception_ptr error);
  std::int64_t end_gap(const StepExecution& execution, const LastExecution& last,
                       std::exception_ptr& error);
  void rethrow_failure();

  std::unique_ptr<const CompileOptions> options_;
  TraceContext& context_;
  Device& device_;
  Communicator& communicator_;
  Log& log_;
  std::unique_ptr<StepCompiler> compiler_;
  const std::unique_ptr<Cuts> cuts_ = std::make_unique<Cuts>();
  std::unique_ptr<Analysis> analysis_;
  std::shared_ptr<Failure> failure_;
  std::shared_ptr<StateWatch> state_watch_;  ///< null: no check
  CarriedDigestPtr carried_;
  std::int64_t step_ = 0;
  std::uint64_t next_correlation_ = 1;
  std::shared_ptr<LastExecution> last_execution_;
  bool in_step_ = false;
  bool reads_forbidden_ = false;
  bool has_steps_ = false;  ///< a loop numbers its steps
  std::int64_t newest_program_ = -1;
  Cuts::RowId open_read_ = Cuts::kNoRow;
  std::int64_t read_begin_ns_ = 0;
  std::optional<PhaseScope> read_phase_;  ///< of the open read
  std::string read_name_;                 ///< of a step's number; empty: any tensor
  std::int64_t read_step_ = 0;
  Cuts::RowId drained_by_ = Cuts::kNoRow;  ///< the read that the next execution comes after
  std::shared_ptr<Reservation> results_;   ///< of steps whose results are read late
};

}  // namespace lockstep
