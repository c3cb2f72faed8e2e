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

/// For std::set_terminate: where an exception cannot pass (a function that promised not to throw),
/// lack of memory is still an error with its message and exit code; all else aborts. Allocates
/// nothing.
[[noreturn]] void terminate_with_message() noexcept;

}  // namespace lockstep
