#include "trainer/launch/job_remains.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A process of a job that keeps 96 MiB of memory, which the kernel needs milliseconds to release
/// after the process has given up its environment.
class LargeProcess {
 public:
  explicit LargeProcess(const std::string& token) {
    const std::string variable = fmt::format("{}={}", kJobTokenVariable, token);
    pid_ = fork();
    if (pid_ == 0) {
      const char* environment[] = {variable.c_str(), nullptr};
      execle("/usr/bin/dd", "dd", "if=/dev/zero", "of=/dev/null", "bs=96M", nullptr, environment);
      _exit(127);
    }
    while (!(is_started() && resident_mib() >= 96) && !has_ended())
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ~LargeProcess() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  LargeProcess(const LargeProcess&) = delete;
  LargeProcess& operator=(const LargeProcess&) = delete;

  pid_t pid() const { return pid_; }

  /// Whether it has ended: its parent can take its exit code.
  bool has_ended() const {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == pid_;
  }

 private:
  /// Before that it is a copy of this process, whose memory and environment are others.
  bool is_started() const {
    std::ifstream file(fmt::format("/proc/{}/comm", pid_));
    std::string name;
    return std::getline(file, name) && name == "dd";
  }

  long resident_mib() const {
    std::ifstream file(fmt::format("/proc/{}/statm", pid_));
    long size = 0, resident = 0;
    file >> size >> resident;
    return resident * sysconf(_SC_PAGESIZE) >> 20;
  }

  pid_t pid_ = 0;
};

TEST(ProcessesOfJob, HaveItsToken) {
  const std::string token = make_job_token();
  const LargeProcess process(token);
  EXPECT_THAT(processes_of_job(token), ElementsAre(process.pid()));
  EXPECT_THAT(processes_of_job(make_job_token()), IsEmpty());
}

TEST(EndProcessesOfJob, KillsOneThatStays) {
  const std::string token = make_job_token();
  const LargeProcess process(token);
  EXPECT_EQ(end_processes_of_job(token), 1);
  EXPECT_TRUE(process.has_ended());
}

TEST(EndProcessesOfJob, WaitsForOneThatReleasesItsMemory) {
  const std::string token = make_job_token();
  const LargeProcess process(token);
  kill(process.pid(), SIGKILL);
  while (!processes_of_job(token).empty()) {
  }
  EXPECT_EQ(end_processes_of_job(token), 0);
  EXPECT_TRUE(process.has_ended());
}

}  // namespace
}  // namespace lockstep
