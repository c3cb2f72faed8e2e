// A checkpoint that only the master reads. The other ranks get it over the network, one tensor at a
// time: they do not need access to the master's file system, and no rank holds a second copy of the
// whole checkpoint.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/file_format.h"
#include "core/runtime/communicator.h"

namespace lockstep {

class SharedCheckpoint {
 public:
  /// Collective: all ranks call it. `open` runs on the master. If it returns nothing, this returns
  /// nothing on all ranks; an Error that it throws is thrown on all ranks.
  static std::optional<SharedCheckpoint> open(
      Communicator& communicator, const std::function<std::optional<CheckpointReader>()>& open);

  const std::string& path() const { return path_; }
  const TrainerState& trainer() const { return trainer_; }
  const std::string& config_yaml() const { return config_yaml_; }
  /// Sorted by the bytes of their paths.
  const std::vector<TensorEntry>& tensors() const { return tensors_; }
  /// Null if there is no tensor with this path.
  const TensorEntry* find(const std::string& path) const;
  /// Collective, in the same order on all ranks. If the master cannot read the tensor, the error is
  /// thrown on all ranks.
  HostTensor read(const TensorEntry& entry) const;

 private:
  explicit SharedCheckpoint(Communicator& communicator) : communicator_(&communicator) {}
  std::string encode() const;
  void decode(const std::string& bytes);

  Communicator* communicator_;
  std::unique_ptr<CheckpointReader> reader_;  ///< on the master
  std::string path_;
  TrainerState trainer_;
  std::string config_yaml_;
  std::vector<TensorEntry> tensors_;
};

}  // namespace lockstep
