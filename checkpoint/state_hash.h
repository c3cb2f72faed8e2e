// A hash of a training state: equal hashes mean equal bits of every parameter, running statistic
// and optimizer tensor. It does not depend on the file that holds them, on the trainer's counters
// or on the config.
//
// SHA-256 of the following bytes, so that any program can recompute it:
//
//   "lockstep state 1" and a NUL, then for each tensor, in the order of the bytes of its path:
//     the path in UTF-8 ("model/<name>" or "optimizer/<slot>/<name>"), a NUL,
//     the dtype's name ("f32", "bf16", "f16", "f64", "i32", "i64", "u8", "bool"), a NUL,
//     the rank as u32 and each dimension's size as i64, little-endian,
//     the elements in row-major order, little-endian: floating-point bits as they are, bf16 and f16
//     in two bytes, bool as one byte 0 or 1.
#pragma once

#include <string>

#include "checkpoint/file_format.h"
#include "checkpoint/state.h"
#include "core/base/hash.h"

namespace lockstep {

/// Hashes one tensor at a time.
class StateHasher {
 public:
  StateHasher();
  /// Call it in ascending order of paths.
  void add(const std::string& path, const HostTensor& tensor);
  /// 64 hexadecimal digits. Call once.
  std::string finish();

 private:
  Sha256 sha_;
  std::string last_path_;
};

std::string state_hash(const CheckpointState& state);

/// The same for a file; holds one tensor in memory at a time.
std::string state_hash(const CheckpointReader& reader);

}  // namespace lockstep
