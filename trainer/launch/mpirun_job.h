// One run of mpirun, or of another command that runs a job, as a child process.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

class ErrorRelay;

class MpirunJob {
 public:
  /// Starts mpirun in its own process group, without standard input: an interrupt at the terminal
  /// reaches the caller only. Nor does SIGTERM reach it, which Slurm and others send to all
  /// processes of a job: it would kill its ranks a second later, in the middle of a save. It
  /// ignores SIGUSR1 until it can forward it. If the calling process dies, mpirun gets SIGINT, and
  /// ends its ranks. What it writes to standard error comes through but for remarks
  /// (mpirun_remarks.h). `silent`: what it writes to standard output is dropped. `output`: a file
  /// to which all that it writes is appended instead; "": none. Error kUsage if there is no such
  /// program, or the file cannot be written.
  explicit MpirunJob(const std::vector<std::string>& words, bool silent = false,
                     const std::string& output = "");
  ~MpirunJob();  ///< kills it if it has not ended
  MpirunJob(const MpirunJob&) = delete;
  MpirunJob& operator=(const MpirunJob&) = delete;

  pid_t pid() const { return pid_; }

  /// Its exit code as in a shell: 128 + signal if a signal ended it; nothing while it runs.
  std::optional<int> poll();

  /// Sends a signal, if it still runs.
  void send(int signal_number);

  /// Sends SIGINT, and SIGKILL if it has not ended after three seconds. mpirun itself gives its
  /// ranks two seconds.
  void end();

  /// The hosts whose daemon it said to have lost; once it has ended. What it writes comes through
  /// until then.
  std::vector<std::string> lost_hosts();

 private:
  pid_t pid_ = -1;
  std::optional<int> code_;
  std::unique_ptr<ErrorRelay> relay_;
};

}  // namespace lockstep
