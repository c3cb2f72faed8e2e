// The watch's facts from /proc: the processes of a job, their states, and their pages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string_view>

#include "tests/watch/comes_true.h"
#include "watch/job_identity.h"
#include "watch/page_file.h"
#include "watch/process_state.h"
#include "watch/report.h"

namespace lockstep {
namespace {

using namespace std::string_view_literals;

/// A child process that runs `body` until it is killed at the end of the test.
class Child {
 public:
  explicit Child(const std::function<void()>& body) : pid_(::fork()) {
    if (pid_ != 0) return;
    body();
    while (true) ::pause();
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

TEST(ProcessState, IsTheLetterBehindTheName) {
  EXPECT_EQ(parse_process_state("12 (lockstep) S 1 12"), ProcessState::kRunning);
  EXPECT_EQ(parse_process_state("12 (lockstep) R 1 12"), ProcessState::kRunning);
  EXPECT_EQ(parse_process_state("12 (lockstep) T 1 12"), ProcessState::kStopped);
  EXPECT_EQ(parse_process_state("12 (lockstep) t 1 12"), ProcessState::kTraced);
  EXPECT_EQ(parse_process_state("12 (lockstep) D 1 12"), ProcessState::kDiskWait);
  EXPECT_EQ(parse_process_state("12 (lockstep) Z 1 12"), ProcessState::kGone);
  EXPECT_EQ(parse_process_state("12 (a) T (b) S 1 12"), ProcessState::kRunning);
  EXPECT_EQ(parse_process_state(""), ProcessState::kUnknown);
  EXPECT_EQ(parse_process_state("12 (lockstep)"), ProcessState::kUnknown);
}

TEST(ProcessState, FollowsAProcessFromLifeToDeath) {
  EXPECT_EQ(process_state(::getpid()), ProcessState::kRunning);
  pid_t pid = 0;
  {
    const Child child([] {});
    pid = child.pid();
    EXPECT_EQ(process_state(pid), ProcessState::kRunning);
    ::kill(pid, SIGSTOP);
    EXPECT_TRUE(comes_true([&] { return process_state(pid) == ProcessState::kStopped; }));
    ::kill(pid, SIGKILL);
    EXPECT_TRUE(comes_true([&] { return process_state(pid) == ProcessState::kGone; }))
        << "a zombie";
  }
  EXPECT_EQ(process_state(pid), ProcessState::kGone);
}

TEST(JobIdentity, OfMpirun) {
  const auto identity = parse_job_identity(
      "HOME=/root\0OMPI_COMM_WORLD_SIZE=8\0OMPI_COMM_WORLD_RANK=5\0OMPI_COMM_WORLD_LOCAL_SIZE=4\0"
      "PMIX_NAMESPACE=849477633\0PMIX_SERVER_URI2=849477632.0;tcp4://127.0.0.1:60273\0"sv);
  ASSERT_TRUE(identity);
  EXPECT_EQ(identity->job, "ompi 849477633 849477632.0;tcp4://127.0.0.1:60273");
  EXPECT_EQ(identity->rank, 5);
  EXPECT_EQ(identity->size, 8);
  EXPECT_EQ(identity->local_size, 4);
}

TEST(JobIdentity, OfSrun) {
  const auto identity = parse_job_identity(
      "SLURM_JOB_ID=77\0SLURM_STEP_ID=2\0SLURM_PROCID=1\0SLURM_STEP_NUM_TASKS=2\0"sv);
  ASSERT_TRUE(identity);
  EXPECT_EQ(identity->job, "slurm 77 2");
  EXPECT_EQ(identity->rank, 1);
  EXPECT_EQ(identity->size, 2);
}

TEST(JobIdentity, OfNobody) {
  EXPECT_FALSE(parse_job_identity(""));
  EXPECT_FALSE(parse_job_identity("HOME=/root\0PATH"sv));
  EXPECT_FALSE(parse_job_identity("SLURM_JOB_ID=77\0SLURM_PROCID=0\0"sv)) << "a batch script";
  EXPECT_FALSE(parse_job_identity("OMPI_COMM_WORLD_SIZE=many\0"sv));
}

TEST(PageFile, IsFoundByOtherProcessesAndOutlivesItsOwn) {
  MappedPages page;
  {
    const Child child([] {
      const MappedPages own = make_own_pages();
      Activity(&own.activity()).begin(Phase::kEvaluate, 41);
      while (true) ::pause();
    });
    ASSERT_TRUE(comes_true([&] {
      page = open_pages_of(child.pid());
      return page && page.activity().progress.load() > 0;
    }));
    EXPECT_EQ(page.activity().pid.load(), child.pid());
  }
  const RankReport report = read_page(page.activity());
  EXPECT_EQ(describe_place(report), "at step 41 in an evaluation");
  EXPECT_FALSE(report.exit_code);
}

TEST(PageFile, IsNotThatOfTheParent) {
  const MappedPages own = make_own_pages();
  EXPECT_TRUE(open_pages_of(::getpid()));
  const Child child([] {});  // has inherited the descriptor
  EXPECT_FALSE(open_pages_of(child.pid()));
}

TEST(PageFile, IsAbsentWhereThereIsNoProcess) {
  EXPECT_FALSE(open_pages_of(0x7fffffff));
}

TEST(Report, TellsWhatTheDeviceDoesWhileTheLoopWaitsForIt) {
  RankReport report;
  report.host_lane = {Phase::kRead, 9, ""};
  report.device_lane = {Phase::kUpdate, 11, "fusion"};
  EXPECT_EQ(describe_place(report), "at step 11 in the update (fusion)");
  report.host_lane = {Phase::kWrite, 11, ""};
  EXPECT_EQ(describe_place(report), "at step 11 in the write of a checkpoint");
  report.host_lane = {Phase::kConnect, -1, ""};
  EXPECT_EQ(describe_place(report), "in MPI_Init");
}

}  // namespace
}  // namespace lockstep
