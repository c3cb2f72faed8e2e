// One run of mpirun as a child process.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace lockstep {

class MpirunJob {
 public:
  /// Starts it in a process group of its own, without standard input: an interrupt at the terminal
  /// reaches the caller alone. SIGUSR1 is ignored in it until it can hand it on. If the calling
  /// process dies, it gets SIGTERM, and ends its ranks. Error kUsage if there is no such program.
  explicit MpirunJob(const std::vector<std::string>& words);
  ~MpirunJob();  ///< kills it if it has not ended
  MpirunJob(const MpirunJob&) = delete;
  MpirunJob& operator=(const MpirunJob&) = delete;

  pid_t pid() const { return pid_; }

  /// Its exit code as a shell writes it, 128 + signal if one ended it; nothing while it runs.
  std::optional<int> poll();

  /// Sends a signal, if it still runs.
  void send(int signal_number);

  /// SIGTERM; SIGKILL if that has not ended it after three seconds. mpirun has its own two for the
  /// ranks.
  void end();

 private:
  pid_t pid_ = -1;
  std::optional<int> code_;
};

}  // namespace lockstep
