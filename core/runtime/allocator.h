// Device memory: a hard limit, a cache of freed blocks, and the list of what is alive, so that
// running out can name the largest tensors and the lines that made them. The cache never makes the
// device take more of the host than the most that was live at once. A reservation is memory in use
// whether its blocks are there or not: so the peak does not depend on who is faster. Thread-safe.
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

  /// Counts memory that `source` gets elsewhere, and frees when it is let go, as allocated here:
  /// the limit is checked, and the memory counted, before `source` is called. That may take long:
  /// others allocate in the meantime. Null if `source` has none; rethrows what it throws.
  BufferPtr adopt(std::size_t bytes, AllocationLabel label,
                  const std::function<std::shared_ptr<std::byte>()>& source);

  /// What a buffer of so many bytes takes: sizes are rounded up, so that freed blocks fit again.
  static std::size_t block_bytes(std::size_t bytes);

  std::size_t limit_bytes() const;
  std::size_t used_bytes() const;    ///< live buffers and reservations
  std::size_t peak_bytes() const;    ///< the most that was in use at once
  std::size_t cached_bytes() const;  ///< freed blocks that wait for their next use

 private:
  friend class Reservation;
  struct State;
  struct Adopted;
  std::shared_ptr<State> state_;
};

/// Memory set aside for blocks that come and go at moments that nobody controls. It counts as in
/// use until the reservation and all its blocks are gone. May outlive the allocator.
class Reservation {
 public:
  /// Of nothing yet.
  Reservation(const Allocator& allocator, AllocationLabel label);

  /// Sets aside so many bytes in all; never less than before. Error kOutOfMemory, see
  /// Allocator::allocate.
  void grow_to(std::size_t bytes);
  /// As Allocator::allocate, out of what is set aside. What finds no room there counts by itself.
  BufferPtr allocate(std::size_t bytes, AllocationLabel label);

 private:
  struct Room;
  std::shared_ptr<Room> room_;
};

}  // namespace lockstep
