#include "checkpoint/state_hash.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>

#include "checkpoint/commit.h"
#include "tests/checkpoint/sample_state.h"

namespace lockstep {
namespace {

using testing::sample_state;

struct ProcessResult {
  std::string output;
  int status;
};

ProcessResult run(const std::string& command) {
  ProcessResult result{"", -1};
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> chunk{};
  while (const std::size_t n = std::fread(chunk.data(), 1, chunk.size(), pipe)) {
    result.output.append(chunk.data(), n);
  }
  result.status = WEXITSTATUS(::pclose(pipe));
  return result;
}

TEST(StateHash, IsTheSameForAStateAndItsFile) {
  const TemporaryFolder folder;
  const CheckpointState state = sample_state();
  const CheckpointReader reader(save_checkpoint(folder.path(), state, Log::null()).path);
  EXPECT_EQ(state_hash(reader), state_hash(state));
}

TEST(StateHash, IsWhatH5pyComputes) {
  const TemporaryFolder folder;
  const CheckpointState state = sample_state();
  const std::string path = save_checkpoint(folder.path(), state, Log::null()).path;
  const ProcessResult python =
      run("/usr/bin/python3 " LOCKSTEP_SOURCE_DIR "/tests/checkpoint/hash_h5py_test.py " + path);
  if (python.status == 77 || python.status == 127) {
    GTEST_SKIP() << "needs /usr/bin/python3 with h5py: " << python.output;
  }
  EXPECT_EQ(python.status, 0) << python.output;
  EXPECT_EQ(python.output, state_hash(state) + "\n");
}

TEST(StateHash, DoesNotChangeUnnoticed) {
  CheckpointState state;
  state.model["w"] = HostTensor::of(Shape{2}, std::vector<float>{1, 2});
  // printf 'lockstep state 1\0model/w\0f32\0\1\0\0\0\2\0\0\0\0\0\0\0\0\0\200\77\0\0\0\100' |
  // sha256sum
  EXPECT_EQ(state_hash(state), "955c6c651d3839cd47f3c9e9b346f603a237748c97ab3cadbbd9af41b0062934");
}

TEST(StateHash, LooksAtTensorsOnly) {
  CheckpointState state = sample_state();
  const std::string before = state_hash(state);
  state.trainer.step = 7;
  state.config_yaml = "";
  EXPECT_EQ(state_hash(state), before);
}

TEST(StateHash, SeesEveryPartOfATensor) {
  const auto hash_of = [](const std::string& name, const HostTensor& tensor) {
    CheckpointState state;
    state.model[name] = tensor;
    return state_hash(state);
  };
  const HostTensor zeros = from_doubles(DType::kF32, {2, 3}, std::vector<double>(6));
  const std::string base = hash_of("w", zeros);
  EXPECT_NE(hash_of("v", zeros), base) << "name";
  EXPECT_NE(hash_of("w", from_doubles(DType::kI32, {2, 3}, std::vector<double>(6))), base)
      << "dtype";
  EXPECT_NE(hash_of("w", from_doubles(DType::kF32, {3, 2}, std::vector<double>(6))), base)
      << "shape";
  const std::vector<double> minus_zero = {0, 0, 0, 0, 0, -0.0};
  EXPECT_NE(hash_of("w", from_doubles(DType::kF32, {2, 3}, minus_zero)), base) << "bits";
  CheckpointState moved;
  moved.optimizer["w"]["w"] = zeros;
  EXPECT_NE(state_hash(moved), base) << "place";
}

}  // namespace
}  // namespace lockstep
