// Device memory: a hard limit, a cache of freed blocks, and the list of what is alive, so that
// running out can name the largest tensors and the lines that made them. Thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/buffer.h"

namespace lockstep {

/// What a block is for: "f32[50304,768] wte.weight model.cpp:41". Shown when memory runs out.
using AllocationLabel = std::string;

class Allocator {
 public:
  /// `limit_bytes` 0: no limit.
  explicit Allocator(std::size_t limit_bytes);
  ~Allocator();
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  /// Uninitialized device memory, 64-byte aligned. Error kOutOfMemory that lists the largest live
  /// tensors if the limit would be passed or the host has no memory left. The buffer may outlive
  /// the allocator.
  BufferPtr allocate(std::size_t bytes, AllocationLabel label);

  std::size_t limit_bytes() const;
  std::size_t used_bytes() const;  ///< live buffers
  std::size_t peak_bytes() const;  ///< the most that was live at once

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace lockstep
