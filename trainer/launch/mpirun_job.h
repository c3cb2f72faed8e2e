// One run of mpirun as a child process.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace lockstep {

class MpirunJob {
 public:
  /// Starts mpirun in its own process group, without standard input: an interrupt at the terminal
  /// reaches the caller only. mpirun ignores SIGUSR1 until it can forward it. If the calling
  /// process dies, mpirun gets SIGTERM, and ends its ranks. `silent`: what it writes to standard
  /// output is dropped. Error kUsage if there is no such program.
  explicit MpirunJob(const std::vector<std::string>& words, bool silent = false);
  ~MpirunJob();  ///< kills it if it has not ended
  MpirunJob(const MpirunJob&) = delete;
  MpirunJob& operator=(const MpirunJob&) = delete;

  pid_t pid() const { return pid_; }

  /// Its exit code as in a shell: 128 + signal if a signal ended it; nothing while it runs.
  std::optional<int> poll();

  /// Sends a signal, if it still runs.
  void send(int signal_number);

  /// Sends SIGTERM, and SIGKILL if it has not ended after three seconds. mpirun itself gives its
  /// ranks two seconds.
  void end();

 private:
  pid_t pid_ = -1;
  std::optional<int> code_;
};

}  // namespace lockstep
