// Passes on what mpirun writes to standard error, without its remarks.
#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace lockstep {

class ErrorRelay {
 public:
  /// Reads `descriptor`, the reading end of a pipe, in a thread until it ends; closes it.
  explicit ErrorRelay(int descriptor);
  ~ErrorRelay();  ///< as end()
  ErrorRelay(const ErrorRelay&) = delete;
  ErrorRelay& operator=(const ErrorRelay&) = delete;

  /// Passes on what the pipe has, and ends. It may have no end yet: a process that mpirun left can
  /// keep it.
  void end();
  /// See MpirunRemarks; after end().
  const std::vector<std::string>& lost_hosts() const { return lost_hosts_; }

 private:
  void run();

  int descriptor_;
  int stop_;  ///< an eventfd
  std::vector<std::string> lost_hosts_ = {};
  std::thread thread_;
};

}  // namespace lockstep
