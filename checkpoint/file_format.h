// The checkpoint file: one self-contained HDF5 file that h5py opens.
//
//   /model/<Hugging Face name>    a parameter or a running statistic
//   /optimizer/<slot>/<name>      an optimizer tensor
//   /trainer                      attributes: step, epoch, sample_position, seed, schedule,
//                                 schedule.<key>, best_metric, best_metric_name,
//                                 best_metric_mode, best_step, bad_evaluations, good_step,
//                                 confirmation, recent_losses, loss_level, least_spread,
//                                 largest_norm, lowest_evaluation, dataset_digest,
//                                 instruction_set, cpu_models, format_version, lockstep_version
//   /trainer/tokenizer            the serialized tokenizer, as u8
//   /trainer/samples              what samples of images are, JSON as u8; only if known
//   /config                       the resolved config, YAML text
//
// Tensors are stored as described in hdf5_file.h. The first 512 bytes are the header of
// header_block.h. The same state gives the same bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/state.h"
#include "core/base/posix_file.h"

namespace lockstep {

/// Paths of tensors in the file: "model/<name>", "optimizer/<slot>/<name>".
std::string model_path(const std::string& name);
std::string optimizer_path(const std::string& slot, const std::string& name);

/// Writes a whole checkpoint into an empty file, reads it back, compares every byte with `state`
/// and with HDF5's other output, and only then adds the header that makes it valid. Does not flush.
/// Error kUsage for a tensor name that cannot be stored, else of the file's kind.
void write_checkpoint(PosixFile& file, const CheckpointState& state);

/// Maximum number of bytes that write_checkpoint() needs.
std::uint64_t checkpoint_bytes_bound(const CheckpointState& state);

/// A tensor in a checkpoint.
struct TensorEntry {
  std::string path;  ///< "model/..." or "optimizer/..."
  DType dtype;
  Shape shape;
  std::uint64_t offset;  ///< of its elements, from the beginning of the file
};

/// A verified checkpoint, read piece by piece. Accepts exactly the output of write_checkpoint()
/// (hdf5_structure.h): anything else under a valid digest is an error, never a crash.
class CheckpointReader {
 public:
  /// Opens and verifies, through one descriptor. Error kCheckpoint "PATH: reason".
  explicit CheckpointReader(const std::string& path);

  const std::string& path() const { return file_.path(); }
  std::uint64_t file_bytes() const { return file_.size(); }
  const TrainerState& trainer() const { return trainer_; }
  const std::string& config_yaml() const { return config_yaml_; }
  /// In the order of their paths' bytes.
  const std::vector<TensorEntry>& tensors() const { return tensors_; }
  HostTensor read(const TensorEntry& entry) const;
  CheckpointState load() const;

 private:
  PosixFile file_;
  TrainerState trainer_;
  std::string config_yaml_;
  std::vector<TensorEntry> tensors_;
  std::vector<std::string> slots_;  // of the optimizer, also those without tensors
};

}  // namespace lockstep
