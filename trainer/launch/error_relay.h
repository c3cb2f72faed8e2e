// Passes on what mpirun writes to standard error, without its remarks.
#pragma once

#include <atomic>
#include <thread>

namespace lockstep {

class ErrorRelay {
 public:
  /// Reads `descriptor`, the reading end of a pipe, in a thread until it ends; closes it.
  explicit ErrorRelay(int descriptor);
  /// Passes on what the pipe has. It may have no end yet: a process that mpirun left can keep it.
  ~ErrorRelay();
  ErrorRelay(const ErrorRelay&) = delete;
  ErrorRelay& operator=(const ErrorRelay&) = delete;

 private:
  void run();

  int descriptor_;
  int stop_;  ///< an eventfd
  std::thread thread_;
};

}  // namespace lockstep
