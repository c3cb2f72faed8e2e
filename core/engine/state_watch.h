// Hashes the state after each update, on the device's thread: see state_check.h.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/carried_digest.h"
#include "core/engine/snapshot.h"
#include "core/engine/state_check.h"
#include "core/runtime/device_tensor.h"

namespace lockstep {

class Communicator;
class Log;
struct CompiledStep;

class StateWatch : public std::enable_shared_from_this<StateWatch> {
 public:
  /// The ranks are known to agree at `first_step`. `log` must outlive it; at level 2 it gets the
  /// addresses of the state in memory.
  StateWatch(std::int64_t interval, std::int64_t first_step, Log& log)
      : log_(log), interval_(interval), last_whole_(first_step) {}

  /// `program` has made `outputs`, one per output of its step, the `step`th update.
  void look(const std::shared_ptr<const CompiledStep>& program,
            std::span<const DeviceTensorPtr> outputs, std::int64_t step, ThreadPool& pool);
  /// Hashes all outputs of the same step, which must still exist. Copies `parts`, those of the
  /// step's outputs in the same pass, so that ranks compare the bytes that are saved.
  void look_at_everything(std::span<const SnapshotPart> parts, ThreadPool& pool);

  /// The last sample; null before the first one.
  std::shared_ptr<const StateSample> last() const { return last_; }
  /// The same for the header of the next step's first collective. If it differs, the whole state is
  /// hashed, which the next step cannot have updated yet: the difference may come from another
  /// tensor whose turn it was not.
  CarriedDigestPtr to_compare() const;

 private:
  std::vector<std::shared_ptr<const DeviceTensor>> updated() const;
  std::vector<StatePiece> pieces_of(
      std::span<const std::shared_ptr<const DeviceTensor>> tensors) const;
  std::shared_ptr<const StateSample> everything_now() const;
  void sample(bool whole, std::span<const SnapshotPart> parts, ThreadPool& pool);
  void tell_addresses(std::span<const StatePiece> pieces);

  Log& log_;
  std::int64_t interval_;
  std::int64_t last_whole_;
  std::int64_t step_ = 0;
  std::shared_ptr<const CompiledStep> program_;
  /// Weak, because the next step takes their memory.
  std::vector<std::weak_ptr<const DeviceTensor>> outputs_;
  std::shared_ptr<const StateSample> last_;
  std::vector<const std::byte*> addresses_;  ///< that were logged; one per piece
};

/// Called by all ranks. Error kPeer, the same on all, if their samples differ.
void compare_samples(Communicator& communicator, const StateSample& sample);

}  // namespace lockstep
