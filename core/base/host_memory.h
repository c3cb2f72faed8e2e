// When the host has no memory left. Programs that link this have an operator new that says how much
// it was asked for.
#pragma once

#include <cstddef>
#include <exception>
#include <new>
#include <optional>

#include "core/base/error.h"

namespace lockstep {

/// What operator new throws. Making one allocates nothing.
class OutOfHostMemory final : public std::bad_alloc {
 public:
  explicit OutOfHostMemory(std::size_t bytes) noexcept;
  /// "the host has no memory left: 3.21GiB more were asked for".
  const char* what() const noexcept override { return text_; }

 private:
  char text_[96];
};

/// If the system refused memory, or what a thread needs, the kOutOfMemory error that says so;
/// nullopt for every other exception.
std::optional<Error> memory_error(const std::exception& e);

/// Throws OutOfHostMemory unless so much could be allocated now. For calls of libraries that crash
/// where they get no memory: most of what they need is then known to be there.
void require_host_memory(std::size_t bytes);

/// Gives what was freed back to the system, also from the heap's middle. Takes milliseconds: for
/// the end of work that needed much and that nothing like it follows soon.
void return_freed_memory();

/// For the first lines of main: where an exception cannot pass (a function that promised not to
/// throw), lack of memory is still an error with its message and exit code; all else aborts.
void prepare_for_lack_of_memory();

}  // namespace lockstep
