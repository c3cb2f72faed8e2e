// Errors for a host that has no memory left. Programs that link this have an operator new whose
// exception states the number of bytes requested.
#pragma once

#include <cstddef>
#include <exception>
#include <new>
#include <optional>

#include "core/base/error.h"

namespace lockstep {

/// The exception that operator new throws. Its constructor allocates nothing.
class OutOfHostMemory final : public std::bad_alloc {
 public:
  explicit OutOfHostMemory(std::size_t bytes) noexcept;
  /// "the host has no memory left: 3.21GiB more were requested".
  const char* what() const noexcept override { return text_; }

 private:
  char text_[96];
};

/// A kOutOfMemory error if `e` says that the system refused memory or the resources of a thread;
/// nullopt for every other exception.
std::optional<Error> memory_error(const std::exception& e);

/// Throws OutOfHostMemory unless `bytes` can be allocated now. For calls of libraries that crash
/// when an allocation fails: afterwards most of the memory they need is known to be available.
void require_host_memory(std::size_t bytes);

/// Returns freed memory to the system, also from the middle of the heap. Takes milliseconds: call
/// it after work that needed much memory, if no similar work follows soon.
void return_freed_memory();

/// From now on freed memory, of large blocks, too, is used again instead of returned: for a short
/// process that builds graph after graph, for which mapping and faulting it in again takes a third
/// of the time.
void keep_freed_memory();

/// Call this in the first lines of main. Where an exception cannot pass (a noexcept function), lack
/// of memory still ends the process with its message and exit code; any other exception aborts.
void prepare_for_lack_of_memory();

}  // namespace lockstep
