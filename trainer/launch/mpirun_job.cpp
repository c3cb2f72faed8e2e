#include "trainer/launch/mpirun_job.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/posix_file.h"
#include "trainer/launch/error_relay.h"

namespace lockstep {
namespace {

constexpr std::chrono::seconds kTimeToEnd{3};

/// Runs in the child, between fork and exec: only async-signal-safe calls.
void become(char* const* words, int output, int errors, int report, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGINT);
  if (getppid() != parent) _exit(1);  // the parent died before that
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null >= 0) dup2(null, STDIN_FILENO);
  if (output >= 0) dup2(output, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  for (const int number : {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ, SIGCHLD}) signal(number, SIG_DFL);
  signal(SIGUSR1, SIG_IGN);
  // A mask lasts over exec. mpirun does not change it, and its ranks begin with an empty one.
  sigset_t shielded;
  sigemptyset(&shielded);
  sigaddset(&shielded, SIGTERM);
  sigprocmask(SIG_SETMASK, &shielded, nullptr);
  execvp(words[0], words);
  const int error = errno;
  if (write(report, &error, sizeof error) < 0) _exit(1);
  _exit(127);
}

}  // namespace

MpirunJob::MpirunJob(const std::vector<std::string>& words, bool silent,
                     const std::string& output) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const std::string file = output.empty() && silent ? "/dev/null" : output;
  const int written = file.empty() ? -1 : open_to_append(file, ErrorKind::kUsage);
  int report[2];
  int errors[2];
  if (pipe2(report, O_CLOEXEC) != 0) raise_errno(ErrorKind::kInternal, "no pipe");
  if (pipe2(errors, O_CLOEXEC) != 0) raise_errno(ErrorKind::kInternal, "no pipe");
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0)
    become(arguments.data(), written, output.empty() ? errors[1] : written, report[1], parent);
  close(report[1]);
  close(errors[1]);
  if (written >= 0) close(written);
  relay_ = std::make_unique<ErrorRelay>(errors[0]);
  int error = 0;
  const bool failed = pid_ > 0 && ::read(report[0], &error, sizeof error) == sizeof error;
  close(report[0]);
  if (pid_ < 0) raise_errno(ErrorKind::kInternal, "cannot start a process");
  if (failed) {
    waitpid(pid_, nullptr, 0);
    raise(ErrorKind::kUsage, "cannot start {}: {}; scripts/install_deps.sh installs OpenMPI",
          words[0], std::strerror(error));
  }
}

MpirunJob::~MpirunJob() {
  if (poll()) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

std::optional<int> MpirunJob::poll() {
  if (code_) return code_;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return code_;
}

void MpirunJob::send(int signal_number) {
  if (!poll()) kill(pid_, signal_number);
}

void MpirunJob::end() {
  send(SIGINT);
  const SteadyClock clock;
  const std::int64_t begin_ns = clock.now_ns();
  while (!poll() && std::chrono::nanoseconds(clock.now_ns() - begin_ns) < kTimeToEnd)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  if (poll()) return;
  kill(pid_, SIGKILL);
  int status = 0;
  waitpid(pid_, &status, 0);
  code_ = 128 + SIGKILL;
}

std::vector<std::string> MpirunJob::lost_hosts() {
  relay_->end();
  return relay_->lost_hosts();
}

}  // namespace lockstep
