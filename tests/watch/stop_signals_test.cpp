// In child processes: signals change the whole process.
#include "watch/stop_signals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string_view>
#include <thread>

namespace lockstep {
namespace {

/// How a child process ends that runs `body`, as wait() tells it.
int status_of(const std::function<int()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) std::_Exit(body());
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status;
}

int exit_code_of(const std::function<int()>& body) {
  const int status = status_of(body);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(StopSignals, SetAFlagAndKeepTheFirstName) {
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) {
    EXPECT_EQ(exit_code_of([number] {
                StopSignals::install();
                if (StopSignals::requested()) return 1;
                ::raise(number);
                ::raise(SIGUSR1);
                ::raise(SIGTERM);
                if (!StopSignals::requested()) return 2;
                const std::string_view expected = number == SIGINT    ? "SIGINT"
                                                  : number == SIGTERM ? "SIGTERM"
                                                                      : "SIGUSR1";
                return StopSignals::name() == expected ? 0 : 3;
              }),
              0);
  }
}

TEST(StopSignals, KnowWhetherTheParentSentThem) {
  EXPECT_EQ(exit_code_of([] {
              StopSignals::install();
              ::raise(SIGTERM);
              return StopSignals::sent_by_parent() ? 1 : 0;
            }),
            0);
  EXPECT_EQ(exit_code_of([] {
              StopSignals::install();
              int installed[2];
              if (::pipe(installed) != 0) return 2;
              const pid_t pid = ::fork();
              if (pid == 0) {
                StopSignals::install();
                (void)!::write(installed[1], "x", 1);
                while (!StopSignals::requested()) ::usleep(1000);
                std::_Exit(StopSignals::sent_by_parent() ? 0 : 1);
              }
              char byte = 0;
              ::close(installed[1]);
              if (::read(installed[0], &byte, 1) != 1) return 3;
              ::kill(pid, SIGTERM);
              int status = 0;
              ::waitpid(pid, &status, 0);
              return WIFEXITED(status) ? WEXITSTATUS(status) : 4;
            }),
            0);
}

TEST(StopSignals, SecondInterruptEndsTheProcessOnlyAfterASecond) {
  EXPECT_EQ(exit_code_of([] {
              StopSignals::install();
              ::raise(SIGINT);
              ::raise(SIGINT);  // a terminal and a launcher both send it
              return 0;
            }),
            0);
  const int status = status_of([] {
    StopSignals::install();
    ::raise(SIGINT);
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    ::raise(SIGINT);
    return 0;
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);
}

}  // namespace
}  // namespace lockstep
