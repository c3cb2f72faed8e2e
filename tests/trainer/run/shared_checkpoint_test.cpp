#include "trainer/run/shared_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "checkpoint/commit.h"
#include "checkpoint/restore.h"
#include "tests/ranks/on_ranks.h"

namespace lockstep {
namespace {

class SharedCheckpoints : public testing::Test {
 protected:
  void SetUp() override {
    folder = std::filesystem::path(testing::TempDir()) / fmt::format("shared_{}", getpid());
    state.trainer.step = 7;
    state.trainer.seed = ~std::uint64_t{0};
    state.trainer.schedule = {"cosine", {{"learning_rate", 0.1}}};
    state.trainer.tokenizer = std::string("bytes \xff\0 of any kind", 20);
    state.trainer.instruction_set = "avx2";
    state.config_yaml = "run: {}\n";
    state.model["w"] = HostTensor::of<float>(Shape{2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
    state.optimizer["exp_avg"]["w"] = HostTensor::of<float>(Shape{2}, std::vector<float>{7, 8});
    path = save_checkpoint(folder.string(), state, Log::null()).path;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::filesystem::path folder;
  CheckpointState state;
  std::string path;
};

TEST_F(SharedCheckpoints, AreReadByTheMasterAndSeenByAll) {
  for (const int ranks : {1, 2, 3}) {
    on_ranks(ranks, [&](Communicator& communicator) {
      const auto shared = SharedCheckpoint::open(communicator, [&] {
        EXPECT_TRUE(communicator.is_master_ordinal());
        return std::optional(open_checkpoint(path));
      });
      ASSERT_TRUE(shared);
      EXPECT_EQ(shared->path(), path);
      EXPECT_EQ(shared->config_yaml(), state.config_yaml);
      EXPECT_EQ(shared->trainer().step, 7);
      EXPECT_EQ(shared->trainer().seed, state.trainer.seed);
      EXPECT_EQ(shared->trainer().schedule.values, state.trainer.schedule.values);
      EXPECT_EQ(shared->trainer().instruction_set, "avx2");
      EXPECT_EQ(shared->trainer().tokenizer, state.trainer.tokenizer);
      EXPECT_TRUE(std::isnan(shared->trainer().best_metric));
      EXPECT_EQ(shared->find("model/v"), nullptr);
      ASSERT_EQ(shared->tensors().size(), 2U);
      const HostTensor w = shared->read(*shared->find("model/w"));
      EXPECT_THAT(w.as<float>(), testing::ElementsAre(1, 2, 3, 4, 5, 6));
      const HostTensor slot = shared->read(*shared->find("optimizer/exp_avg/w"));
      EXPECT_THAT(slot.as<float>(), testing::ElementsAre(7, 8));
    });
  }
}

TEST_F(SharedCheckpoints, MayBeNone) {
  on_ranks(2, [&](Communicator& communicator) {
    EXPECT_FALSE(SharedCheckpoint::open(
        communicator, []() -> std::optional<CheckpointReader> { return std::nullopt; }));
  });
}

TEST_F(SharedCheckpoints, ThatCannotBeOpenedAreTheSameErrorEverywhere) {
  std::filesystem::resize_file(path, 1000);
  const auto errors = errors_on_ranks(2, ErrorKind::kCheckpoint, [&](Communicator& communicator) {
    SharedCheckpoint::open(communicator, [&] { return std::optional(open_checkpoint(path)); });
  });
  EXPECT_THAT(errors[0], testing::StartsWith(path));
  EXPECT_EQ(errors[1], errors[0]);
}

}  // namespace
}  // namespace lockstep
