// One execution of a compiled step on the device: k calls of the gradient program, the reduction,
// one call of the update program.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/base/carried_digest.h"
#include "core/observe/cuts.h"
#include "core/runtime/device_tensor.h"
#include "core/trace/cut_trace.h"
#include "core/virtual_time/virtual_clock.h"

namespace lockstep {

class Communicator;
class Device;
class Reservation;
class StateWatch;
struct LoadedStep;

/// The host scalars of a step are passed in one buffer of such slots.
inline constexpr std::size_t kScalarSlotBytes = 64;

/// A tensor on the device, or a number of the host.
struct StepInput {
  TensorLease tensor;     ///< empty for a number
  TensorValuePtr scalar;  ///< null for a tensor
};
std::vector<StepInput> step_inputs(std::span<const TensorValuePtr> values);

struct StepExecution {
  std::shared_ptr<const LoadedStep> program;  ///< null if the compilation failed
  std::vector<StepInput> inputs;              ///< one per step input
  std::vector<Update> updates;                ///< the step's
  std::vector<DeviceTensorPtr> outputs;       ///< placeholders, one per step output
  std::int64_t step = -1;
  SyncReason reason = SyncReason::kMarkStep;
  std::uint64_t correlation = 0;
  Cuts::RowId drained_by =
      Cuts::kNoRow;  ///< the read because of which the device was idle before it
  bool overlap = true;
  /// The memory of results if several steps may be in flight, see Device: room for the results of
  /// all is reserved. Null: allocated like all other memory.
  std::shared_ptr<Reservation> results;
  std::shared_ptr<StateWatch> state_watch;  ///< hashes what was updated; null: no check
  CarriedDigestPtr carried;                 ///< compared with other ranks'; null: none
  std::vector<HostEvent> host = {};         ///< before it was handed over, in virtual time
  bool updating = false;  ///< the update program has begun: donated memory may be half written
  /// If set, called for each old value that is copied because there is another lease on it.
  std::function<void(const DeviceTensor& old)> on_copy = {};
};

/// Waits until all inputs exist. Rethrows the error of the first input that failed.
void wait_for_inputs(const StepExecution& execution);

/// Runs on the device's thread, once the inputs exist. All memory is reserved before the first
/// kernel. Fills and marks the outputs, or throws; then no output is marked, and all inputs have
/// their old values unless `updating` was set. When the outputs are marked, all other memory has
/// been given back, that of the inputs too, so that the memory in use does not depend on timing.
/// Records spans of its parts. Returns the number of micro-batches.
std::int64_t run_step(StepExecution& execution, Device& device, Communicator& communicator);

/// Marks all outputs failed, except updates of inputs that still hold their old value: these
/// outputs take the old value again, so that a step that did not reach its update leaves parameters
/// unchanged. Waits for the old values.
void fail_step(StepExecution& execution, const std::exception_ptr& error);

}  // namespace lockstep
