// A loaded state equals the saved one, and the same state makes the same bytes.
#include "checkpoint/file_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/resource.h>

#include <cmath>

#include "checkpoint/commit.h"
#include "checkpoint/restore.h"
#include "checkpoint/trainer_attributes.h"
#include "tests/checkpoint/sample_state.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/file_contents.h"

namespace lockstep {
namespace {

using testing::expect_equal;
using ::testing::HasSubstr;
using testing::sample_state;

TEST(FileFormat, LoadsWhatWasSaved) {
  const TemporaryFolder folder;
  CheckpointState state = sample_state();
  state.trainer.best_metric_name = "eval/accuracy";
  state.trainer.best_metric_mode = "max";
  state.trainer.good_step = 1450;
  state.trainer.confirmation = Confirmation::kDoubtful;
  state.trainer.losses = {.recent = {1.5, 0.1, -1.0 / 3, 1e-300},
                          .level = 1.1,
                          .least_spread = 0.25,
                          .largest_norm = 3,
                          .lowest_evaluation = 1.25};
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
  EXPECT_EQ(loaded.trainer.best_metric_name, "eval/accuracy");
  EXPECT_EQ(loaded.trainer.best_metric_mode, "max");
  EXPECT_EQ(loaded.trainer.good_step, 1450);
  EXPECT_EQ(loaded.trainer.confirmation, Confirmation::kDoubtful);
  EXPECT_EQ(loaded.trainer.losses.recent, state.trainer.losses.recent);
  EXPECT_EQ(loaded.trainer.losses.level, 1.1);
  EXPECT_EQ(loaded.trainer.losses.least_spread, 0.25);
  EXPECT_EQ(loaded.trainer.losses.largest_norm, 3);
  EXPECT_EQ(loaded.trainer.losses.lowest_evaluation, 1.25);
  EXPECT_EQ(loaded.trainer.dataset_digest, "0123abcd");
  EXPECT_EQ(loaded.trainer.instruction_set, "AVX2");
  EXPECT_EQ(loaded.trainer.cpu_models, "A; B");
  EXPECT_EQ(loaded.trainer.tokenizer, state.trainer.tokenizer);
  EXPECT_EQ(loaded.trainer.samples, "{}");
  EXPECT_EQ(loaded.trainer.format_version, 1);
  EXPECT_FALSE(loaded.trainer.lockstep_version.empty());
}

// As lockstep wrote them before they said what the best is the best of, and what is known.
TEST(FileFormat, ReadsAttributesThatDoNotSayWhatIsGood) {
  std::map<std::string, Hdf5Attribute> attributes;
  for (const char* name :
       {"step", "epoch", "sample_position", "best_step", "bad_evaluations", "format_version"})
    attributes[name] = std::int64_t{40};
  attributes["seed"] = std::uint64_t{1};
  attributes["best_metric"] = 1.09;
  for (const char* name : {"schedule", "dataset_digest", "lockstep_version"})
    attributes[name] = std::string();
  const TrainerState trainer = read_trainer(attributes, "old.h5");
  EXPECT_EQ(trainer.best_metric_name, "eval/loss");
  EXPECT_EQ(trainer.best_metric_mode, "min");
  EXPECT_EQ(trainer.good_step, 40) << "what was kept counted as good";
  EXPECT_EQ(trainer.confirmation, Confirmation::kOpen);
  EXPECT_TRUE(trainer.losses.recent.empty());
  attributes["recent_losses"] = std::string("1.5 nan");
  EXPECT_EQ(error_of(ErrorKind::kCheckpoint, [&] { read_trainer(attributes, "old.h5"); }),
            "old.h5: the attribute recent_losses of /trainer is not what lockstep writes");
}

TEST(FileFormat, KeepsTheDefaultsOfAFreshTrainer) {
  const TemporaryFolder folder;
  const CheckpointState loaded = load(save_checkpoint(folder.path(), {}, Log::null()).path);
  EXPECT_TRUE(std::isnan(loaded.trainer.best_metric));
  EXPECT_EQ(loaded.trainer.evaluated_step, -1);
  EXPECT_EQ(loaded.trainer.good_step, -1);
  EXPECT_EQ(loaded.trainer.confirmation, Confirmation::kOpen);
  EXPECT_TRUE(loaded.trainer.losses.recent.empty());
  EXPECT_TRUE(std::isinf(loaded.trainer.losses.least_spread));
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
