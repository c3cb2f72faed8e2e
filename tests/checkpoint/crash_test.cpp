// Nothing is lost: a writer is killed at random instants, again and again, and every time the
// newest checkpoint verifies, is one complete state, and is no older than the last one whose saving
// was reported done.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "checkpoint/commit.h"
#include "checkpoint/restore.h"
#include "tests/checkpoint/sample_state.h"

namespace lockstep {
namespace {

using SharedStep = std::atomic<std::int64_t>;

constexpr int kKills = 30;
constexpr int kTensors = 8;

// Every element tells the step, so that a mixture of two states shows.
CheckpointState state_of(std::int64_t step) {
  CheckpointState state;
  state.trainer.step = step;
  state.config_yaml = fmt::format("step: {}\n", step);
  for (int i = 0; i < kTensors; ++i) {
    HostTensor tensor(DType::kI64, {1 << 14});
    for (std::int64_t& x : tensor.as<std::int64_t>()) x = step;
    state.model[fmt::format("h.{}.weight", i)] = tensor;
    state.optimizer["exp_avg"][fmt::format("h.{}.weight", i)] = tensor;
  }
  return state;
}

void expect_complete(const CheckpointState& state) {
  const std::int64_t step = state.trainer.step;
  EXPECT_EQ(state.config_yaml, fmt::format("step: {}\n", step));
  ASSERT_EQ(state.model.size(), static_cast<std::size_t>(kTensors));
  testing::expect_equal(state.model, state_of(step).model);
  testing::expect_equal(state.optimizer.at("exp_avg"), state.model);
}

[[noreturn]] void save_until_killed(const std::string& folder, std::int64_t step,
                                    SharedStep& done) {
  try {
    for (;; ++step) {
      save_checkpoint(folder, state_of(step), {.keep_last = 2, .keep_best = true}, Log::null());
      done.store(step);
    }
  } catch (...) {
    ::_exit(1);
  }
}

bool has_temporary(const TemporaryFolder& folder) {
  for (const std::string& name : folder.names()) {
    if (name.ends_with(".tmp")) return true;
  }
  return false;
}

void wait_until_saved(const SharedStep& done, std::int64_t step) {
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (done.load() < step && std::chrono::steady_clock::now() < patience)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(Crash, KillingTheWriterLosesNothing) {
  const TemporaryFolder folder;
  auto* done = new (::mmap(nullptr, sizeof(SharedStep), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0)) SharedStep(0);
  std::mt19937 random(12345);
  std::uniform_int_distribution<int> micros(500, 60'000);
  int during_write = 0;
  std::int64_t newest = 0;
  for (int kill = 0; kill < kKills; ++kill) {
    const pid_t child = ::fork();
    if (child == 0) save_until_killed(folder.path(), newest + 1, *done);
    ASSERT_GT(child, 0);
    if (kill % 3 == 0) wait_until_saved(*done, newest + 1);  // however busy the machine is
    std::this_thread::sleep_for(std::chrono::microseconds(micros(random)));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself with " << WEXITSTATUS(status);
    if (has_temporary(folder)) ++during_write;

    const FoundCheckpoint found = find_newest(folder.path());
    EXPECT_TRUE(found.skipped.empty()) << found.skipped.front().reason;
    if (!found.newest.has_value()) {
      ASSERT_EQ(done->load(), 0) << "all checkpoints are gone";
      continue;
    }
    newest = found.newest->trainer().step;
    EXPECT_GE(newest, done->load());
    expect_complete(found.newest->load());
  }
  std::printf("%d kills, %d of them during a write; last step saved %ld\n", kKills, during_write,
              static_cast<long>(newest));
  EXPECT_GT(during_write, 0);
  EXPECT_GT(newest, 0);

  // The next writer clears up.
  save_checkpoint(folder.path(), state_of(newest + 1), Log::null());
  EXPECT_FALSE(has_temporary(folder));
  ::munmap(done, sizeof(SharedStep));
}

}  // namespace
}  // namespace lockstep
