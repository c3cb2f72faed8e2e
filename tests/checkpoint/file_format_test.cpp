// What is saved is what is loaded, and the same state makes the same bytes.
#include "checkpoint/file_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/resource.h>

#include <cmath>

#include "checkpoint/commit.h"
#include "checkpoint/restore.h"
#include "tests/checkpoint/sample_state.h"
#include "tests/core/file_contents.h"

namespace lockstep {
namespace {

using testing::expect_equal;
using ::testing::HasSubstr;
using testing::sample_state;

TEST(FileFormat, LoadsWhatWasSaved) {
  const TemporaryFolder folder;
  const CheckpointState state = sample_state();
  const CheckpointState loaded = load(save_checkpoint(folder.path(), state, Log::null()).path);

  expect_equal(loaded.model, state.model);
  ASSERT_EQ(loaded.optimizer.size(), state.optimizer.size());
  for (const auto& [slot, tensors] : state.optimizer) {
    expect_equal(loaded.optimizer.at(slot), tensors);
  }
  EXPECT_EQ(loaded.config_yaml, state.config_yaml);
  EXPECT_EQ(loaded.trainer.step, 1500);
  EXPECT_EQ(loaded.trainer.epoch, 3);
  EXPECT_EQ(loaded.trainer.sample_position, 1LL << 40);
  EXPECT_EQ(loaded.trainer.evaluated_step, 1400);
  EXPECT_EQ(loaded.trainer.seed, 0xFFFFFFFFFFFFFFFFULL);
  EXPECT_EQ(loaded.trainer.schedule.name, "cosine");
  EXPECT_EQ(loaded.trainer.schedule.values, state.trainer.schedule.values);
  EXPECT_EQ(loaded.trainer.best_metric, 1.25);
  EXPECT_EQ(loaded.trainer.early_stopping.best_step, 1000);
  EXPECT_EQ(loaded.trainer.early_stopping.bad_evaluations, 2);
  EXPECT_EQ(loaded.trainer.dataset_digest, "0123abcd");
  EXPECT_EQ(loaded.trainer.instruction_set, "AVX2");
  EXPECT_EQ(loaded.trainer.cpu_models, "A; B");
  EXPECT_EQ(loaded.trainer.tokenizer, state.trainer.tokenizer);
  EXPECT_EQ(loaded.trainer.samples, "{}");
  EXPECT_EQ(loaded.trainer.format_version, 1);
  EXPECT_FALSE(loaded.trainer.lockstep_version.empty());
}

TEST(FileFormat, KeepsTheDefaultsOfAFreshTrainer) {
  const TemporaryFolder folder;
  const CheckpointState loaded = load(save_checkpoint(folder.path(), {}, Log::null()).path);
  EXPECT_TRUE(std::isnan(loaded.trainer.best_metric));
  EXPECT_EQ(loaded.trainer.evaluated_step, -1);
  EXPECT_EQ(loaded.trainer.early_stopping.best_step, -1);
  EXPECT_EQ(loaded.trainer.tokenizer, "");
  EXPECT_EQ(loaded.trainer.samples, "");
  EXPECT_EQ(loaded.config_yaml, "");
  EXPECT_TRUE(loaded.model.empty());
}

TEST(FileFormat, TheSameStateMakesTheSameBytes) {
  const TemporaryFolder a;
  const TemporaryFolder b;
  const std::string first = save_checkpoint(a.path(), sample_state(), Log::null()).path;
  const std::string second = save_checkpoint(b.path(), sample_state(), Log::null()).path;
  EXPECT_EQ(contents_of(first), contents_of(second));
}

TEST(FileFormat, SavingWhatWasLoadedMakesTheSameBytes) {
  const TemporaryFolder a;
  const TemporaryFolder b;
  const std::string first = save_checkpoint(a.path(), sample_state(), Log::null()).path;
  const std::string second = save_checkpoint(b.path(), load(first), Log::null()).path;
  EXPECT_EQ(contents_of(first), contents_of(second));
}

TEST(FileFormat, TheBoundOnTheSizeHolds) {
  const TemporaryFolder folder;
  CheckpointState state = sample_state();
  for (int i = 0; i < 300; ++i) {
    state.model[fmt::format("h.{}.a.rather.long.parameter.name.weight", i)] =
        HostTensor::scalar<float>(1);
  }
  const SavedCheckpoint saved = save_checkpoint(folder.path(), state, Log::null());
  EXPECT_LE(saved.bytes, checkpoint_bytes_bound(state));
  EXPECT_EQ(saved.bytes, std::filesystem::file_size(saved.path));
  expect_equal(load(saved.path).model, state.model);
}

TEST(FileFormat, RefusesNamesThatHdf5CannotHold) {
  for (const std::string& name :
       {std::string("a/b"), std::string(""), std::string("."), std::string("a\0b", 3)}) {
    const TemporaryFolder folder;
    CheckpointState state;
    state.model[name] = HostTensor::scalar<float>(1);
    EXPECT_THROW(save_checkpoint(folder.path(), state, Log::null()), Error) << name;
    EXPECT_TRUE(folder.names().empty()) << "a refused checkpoint left something behind";
  }
}

TEST(FileFormat, RefusesATensorWithoutMemory) {
  const TemporaryFolder folder;
  CheckpointState state;
  state.model["w"];
  EXPECT_THROW(save_checkpoint(folder.path(), state, Log::null()), Error);
}

TEST(FileFormat, AnyShapeAndBitsSurvive) {
  rc::check("any tensor survives", [] {
    const auto dtype = *rc::gen::element(DType::kF32, DType::kBF16, DType::kF16, DType::kF64,
                                         DType::kI32, DType::kI64, DType::kU8);
    const auto sizes = *rc::gen::resize(
        4, rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 5)));
    RC_PRE(sizes.size() <= static_cast<std::size_t>(Shape::kMaxRank));
    HostTensor tensor(dtype, Shape(sizes));
    for (std::byte& b : tensor.bytes()) b = static_cast<std::byte>(*rc::gen::arbitrary<char>());
    CheckpointState state;
    state.model["any name. é"] = tensor;
    const TemporaryFolder folder;
    expect_equal(load(save_checkpoint(folder.path(), state, Log::null()).path).model, state.model);
    RC_ASSERT(!::testing::Test::HasFailure());
  });
}

// Sets the soft limit on file sizes for a scope.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limited{bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limited);
  }
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &old_); }

 private:
  rlimit old_{};
};

// HDF5 itself would crash at the end of this process if it saw a failed write.
TEST(FileFormat, AWriteThatFailsAnywhereIsAnError) {
  const TemporaryFolder folder;
  const CheckpointState state = sample_state();
  const std::uint64_t whole = save_checkpoint(folder.path(), state, Log::null()).bytes;
  for (std::uint64_t limit = 0; limit < whole; limit += 997) {
    const std::string path = folder / fmt::format("limited-{}", limit);
    PosixFile file = PosixFile::create(path, ErrorKind::kCheckpoint);
    const FileSizeLimit scope(limit);
    try {
      write_checkpoint(file, state);
      ADD_FAILURE() << "writing " << whole << " bytes went well with a limit of " << limit;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kCheckpoint);
      EXPECT_EQ(std::string(error.what()), "cannot write " + path + ": File too large");
    }
    EXPECT_TRUE(file.ran_out_of_space());
  }
}

}  // namespace
}  // namespace lockstep
