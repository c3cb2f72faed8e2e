// Device memory: a hard limit, a cache of freed blocks, and a list of live blocks, so that an
// out-of-memory error can name the largest tensors and the lines that made them. The cache never
// makes the device take more host memory than the maximum that was live at once. A reservation
// counts as memory in use even without blocks, so that the peak does not depend on timing.
// Thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/buffer.h"

namespace lockstep {

/// The use of a block: "f32[50304,768] wte.weight model.cpp:41". Shown when memory runs out.
using AllocationLabel = std::string;

class Allocator {
 public:
  /// `limit_bytes` 0: no limit. `host_bytes`: what the host can give for it; 0: unknown.
  explicit Allocator(std::size_t limit_bytes, std::size_t host_bytes = 0);
  ~Allocator();
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  /// Uninitialized device memory, 64-byte aligned. Error kOutOfMemory that lists the largest live
  /// tensors if the limit would be exceeded or the host has no memory for it. The buffer may
  /// outlive the allocator.
  BufferPtr allocate(std::size_t bytes, AllocationLabel label);

  /// Counts memory that `source` gets elsewhere as allocated here, until the buffer is released.
  /// The limit is checked, and the memory counted, before `source` is called. The call may take
  /// long: other threads can allocate meanwhile. Null if `source` returns null; rethrows its
  /// exceptions.
  BufferPtr adopt(std::size_t bytes, AllocationLabel label,
                  const std::function<std::shared_ptr<std::byte>()>& source);

  /// The size of the block for a buffer of `bytes`: sizes are rounded up, so that freed blocks fit
  /// again.
  static std::size_t block_bytes(std::size_t bytes);

  std::size_t limit_bytes() const;
  std::size_t used_bytes() const;    ///< live buffers and reservations
  std::size_t peak_bytes() const;    ///< the maximum in use at once
  std::size_t cached_bytes() const;  ///< freed blocks that wait for their next use

 private:
  friend class Reservation;
  struct State;
  struct Adopted;
  std::shared_ptr<State> state_;
};

/// Memory set aside for blocks whose lifetimes are not controlled. It counts as in use until the
/// reservation and all its blocks are gone. May outlive the allocator.
class Reservation {
 public:
  /// Empty at first.
  Reservation(const Allocator& allocator, AllocationLabel label);

  /// Sets aside `bytes` in total; never less than before. Error kOutOfMemory, see
  /// Allocator::allocate.
  void grow_to(std::size_t bytes);
  /// As Allocator::allocate, but from the memory set aside. A block that does not fit there counts
  /// in addition.
  BufferPtr allocate(std::size_t bytes, AllocationLabel label);

 private:
  struct Room;
  std::shared_ptr<Room> room_;
};

}  // namespace lockstep
