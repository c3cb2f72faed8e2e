// Errors. Blame is in the name of the check: LS_USER_CHECK is the caller's fault (bad shape, bad
// config, bad file) and must read as help; LS_CHECK is our own bug and carries file and line.
//
// Every error is an `Error` with a kind; only the command line turns kinds into exit codes.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

#include "core/base/api.h"

namespace LOCKSTEP_API lockstep {

/// What went wrong; the value is the process exit code of the command line.
enum class ErrorKind : int {
  kInternal = 1,     ///< a bug of lockstep
  kUsage = 2,        ///< command line, config, or misuse of the C++ interface
  kData = 3,         ///< a dataset, tokenizer or corpus file
  kCheckpoint = 4,   ///< a checkpoint cannot be written, found or trusted
  kNonFinite = 5,    ///< NaN or infinity in loss or gradients
  kOutOfMemory = 6,  ///< of the device (its limit), or of the host
  kPeer = 7,         ///< a stalled, lost or diverging rank
  kPreempted = 75,   ///< asked to stop, and saved
};

/// The one exception type that lockstep throws on purpose.
class Error : public std::runtime_error {
 public:
  /// An error of `kind`; the message is what().
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }  ///< who has to act
  /// Of the command line: the kind's value.
  int exit_code() const { return static_cast<int>(kind_); }

 private:
  ErrorKind kind_;
};

/// Throws Error(kind, formatted message).
template <class... Args>
[[noreturn]] void raise(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(kind, fmt::format(format, std::forward<Args>(args)...));
}

/// Throws Error(kInternal) that names the failed condition and its place.
[[noreturn]] void raise_internal(const char* file, int line, const char* condition,
                                 const std::string& message);

/// Throws Error(kind) with strerror(errno) appended; for failed POSIX calls.
[[noreturn]] void raise_errno(ErrorKind kind, const std::string& what);

}  // namespace lockstep

// Macros, because a failed check must not pay for formatting its message when it holds, and an
// internal check must name the line it stands on.
/// Error kUsage with a message, given as to fmt::format, unless the condition holds: for faults of
/// the caller.
#define LS_USER_CHECK(condition, ...)                                                \
  do {                                                                               \
    if (!(condition)) ::lockstep::raise(::lockstep::ErrorKind::kUsage, __VA_ARGS__); \
  } while (false)

/// Error kInternal with the condition, its file and line, and a message, unless the condition
/// holds: for faults of lockstep.
#define LS_CHECK(condition, ...)                                                              \
  do {                                                                                        \
    if (!(condition))                                                                         \
      ::lockstep::raise_internal(__FILE__, __LINE__, #condition, ::fmt::format(__VA_ARGS__)); \
  } while (false)
