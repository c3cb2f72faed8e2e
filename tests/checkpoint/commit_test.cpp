// Saving is all or nothing, removes files of dead writers, and prunes only what it may.
#include "checkpoint/commit.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include "checkpoint/restore.h"
#include "core/base/atomic_file.h"
#include "tests/checkpoint/sample_state.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/file_contents.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::sample_state;
using testing::write_bytes;

void save_steps(const TemporaryFolder& folder, const std::vector<std::int64_t>& steps,
                const Retention& retention, std::int64_t best_step = -1) {
  for (const std::int64_t step : steps) {
    CheckpointState state = sample_state(step);
    state.trainer.early_stopping.best_step = best_step;
    save_checkpoint(folder.path(), state, retention, Log::null());
  }
}

TEST(Commit, LeavesOneFileNamedAfterTheStep) {
  const TemporaryFolder folder;
  const SavedCheckpoint saved =
      save_checkpoint(folder / "run/checkpoints", sample_state(), Log::null());
  EXPECT_EQ(saved.path, folder / "run/checkpoints/step-00001500.h5");
  const auto entries = std::filesystem::directory_iterator(folder / "run/checkpoints");
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
}

TEST(Commit, ReplacesAFileOfTheSameStep) {
  const TemporaryFolder folder;
  write_bytes(folder / "step-00001500.h5", "damaged");
  save_checkpoint(folder.path(), sample_state(), Log::null());
  EXPECT_EQ(find_newest(folder.path()).newest->trainer().step, 1500);
}

TEST(Commit, RemovesTheTemporariesOfTheDead) {
  const TemporaryFolder folder;
  write_bytes(folder / ".step-00000001.h5.1-0.tmp", "unfinished");
  write_bytes(folder / ".other.tmp", "not ours");
  save_checkpoint(folder.path(), sample_state(), Log::null());
  EXPECT_THAT(folder.names(), ElementsAre(".other.tmp", "step-00001500.h5"));
}

TEST(Commit, LeavesTheTemporaryOfALivingWriterAlone) {
  const TemporaryFolder folder;
  AtomicFile writer(folder / "step-00000001.h5", ErrorKind::kCheckpoint);
  const std::string name = std::filesystem::path(writer.file().path()).filename().string();
  save_checkpoint(folder.path(), sample_state(), Log::null());
  EXPECT_THAT(folder.names(), ElementsAre(name, "step-00001500.h5"));
}

TEST(Commit, RefusesANegativeStep) {
  const TemporaryFolder folder;
  EXPECT_THROW(save_checkpoint(folder.path(), sample_state(-1), Log::null()), Error);
}

TEST(Commit, NamesTheFolderThatCannotBeMade) {
  const TemporaryFolder folder;
  write_bytes(folder / "file", "");
  const auto save = [&] {
    save_checkpoint(folder / "file/checkpoints", sample_state(), Log::null());
  };
  EXPECT_EQ(error_of(ErrorKind::kCheckpoint, save),
            "cannot make the folder " + folder.path() + "/file/checkpoints: Not a directory");
}

TEST(Retention, KeepsTheLast) {
  const TemporaryFolder folder;
  save_steps(folder, {100, 200, 300, 400}, {.keep_last = 2, .keep_best = true});
  EXPECT_THAT(folder.names(), ElementsAre("step-00000300.h5", "step-00000400.h5"));
}

TEST(Retention, KeepsAllByDefault) {
  const TemporaryFolder folder;
  save_steps(folder, {100, 200, 300, 400}, {});
  EXPECT_EQ(folder.names().size(), 4U);
}

TEST(Retention, KeepsTheBest) {
  const TemporaryFolder folder;
  save_steps(folder, {100, 200, 300, 400}, {.keep_last = 1, .keep_best = true}, 200);
  EXPECT_THAT(folder.names(), ElementsAre("step-00000200.h5", "step-00000400.h5"));
}

TEST(Retention, DropsTheBestIfTold) {
  const TemporaryFolder folder;
  save_steps(folder, {100, 200, 300, 400}, {.keep_last = 1, .keep_best = false}, 200);
  EXPECT_THAT(folder.names(), ElementsAre("step-00000400.h5"));
}

// Of a state whose newest good step is `good`.
void save_good(const TemporaryFolder& folder, std::int64_t step, std::int64_t good,
               const Retention& retention) {
  CheckpointState state = sample_state(step);
  state.trainer.good_step = good;
  save_checkpoint(folder.path(), state, retention, Log::null());
}

TEST(Retention, KeepsTheNewestGoodUntilThereIsANewerOne) {
  const TemporaryFolder folder;
  const Retention retention{.keep_last = 1, .keep_best = false};
  save_good(folder, 100, 100, retention);
  for (const std::int64_t step : {200, 300, 400}) save_good(folder, step, 100, retention);
  EXPECT_THAT(folder.names(), ElementsAre("step-00000100.h5", "step-00000400.h5"));
  save_good(folder, 500, 500, retention);
  EXPECT_THAT(folder.names(), ElementsAre("step-00000500.h5"));
}

TEST(Retention, KeepsWhatARunWentOnFromUntilALaterOneIsGood) {
  const TemporaryFolder folder;
  const Retention retention{.keep_last = 1, .keep_best = false, .begun_at = 200};
  save_good(folder, 100, 100, {});
  save_good(folder, 200, 100, {});
  save_good(folder, 300, 100, retention);
  save_good(folder, 400, 100, retention);
  EXPECT_THAT(folder.names(),
              ElementsAre("step-00000100.h5", "step-00000200.h5", "step-00000400.h5"));
  save_good(folder, 500, 500, retention);
  EXPECT_THAT(folder.names(), ElementsAre("step-00000500.h5"));
}

TEST(Retention, SetsAsideWhatComesAfterAStep) {
  const TemporaryFolder folder;
  save_steps(folder, {100, 200, 300}, {});
  EXPECT_THAT(
      set_aside_after(folder.path(), 100, Log::null()),
      ElementsAre(folder / "step-00000200.suspect.h5", folder / "step-00000300.suspect.h5"));
  EXPECT_THAT(folder.names(), ElementsAre("step-00000100.h5", "step-00000200.suspect.h5",
                                          "step-00000300.suspect.h5"));
  EXPECT_EQ(find_newest(folder.path()).newest->trainer().step, 100);
}

TEST(Retention, NeverDropsWhatWasJustWritten) {
  const TemporaryFolder folder;
  save_steps(folder, {1000, 2000, 500}, {.keep_last = 1, .keep_best = true});
  EXPECT_THAT(folder.names(), ElementsAre("step-00000500.h5", "step-00002000.h5"));
}

TEST(Retention, DoesNotCountBrokenFiles) {
  const TemporaryFolder folder;
  save_steps(folder, {100}, {});
  write_bytes(folder / "step-00000900.h5", contents_of(folder / "step-00000100.h5").substr(0, 900));
  save_steps(folder, {200}, {.keep_last = 2, .keep_best = true});
  EXPECT_THAT(folder.names(),
              ElementsAre("step-00000100.h5", "step-00000200.h5", "step-00000900.h5"));
}

TEST(FindNewest, SkipsWhatDoesNotVerifyAndSaysWhy) {
  const TemporaryFolder folder;
  save_steps(folder, {100, 200}, {});
  write_bytes(folder / "step-00000300.h5", "");
  write_bytes(folder / "step-00000400.h5", "x");
  const FoundCheckpoint found = find_newest(folder.path());
  ASSERT_TRUE(found.newest.has_value());
  EXPECT_EQ(found.newest->path(), folder / "step-00000200.h5");
  ASSERT_EQ(found.skipped.size(), 2U);
  EXPECT_EQ(found.skipped[0].path, folder / "step-00000400.h5");
  EXPECT_EQ(found.skipped[1].path, folder / "step-00000300.h5");
  EXPECT_EQ(found.skipped[1].reason, "the file is empty");
}

TEST(FindNewest, IgnoresOtherNames) {
  const TemporaryFolder folder;
  for (const char* name : {"step-.h5", "step-1.h5", "step-00000001.h5.bak", "step-000000001.h5",
                           ".step-00000001.h5.7-0.tmp", "step-0000000x.h5"}) {
    write_bytes(folder / name, "x");
  }
  const FoundCheckpoint found = find_newest(folder.path());
  EXPECT_FALSE(found.newest.has_value());
  EXPECT_TRUE(found.skipped.empty());
}

TEST(FindNewest, FindsNothingWithoutAFolder) {
  EXPECT_FALSE(find_newest("/nonexistent/checkpoints").newest.has_value());
}

// Saves step 100, then fails to save a bigger step 200 into the same folder.
void expect_survives_lack_of_space(const std::string& folder, const std::string& cause) {
  CheckpointState big = sample_state(200);
  big.model["big"] = HostTensor(DType::kF32, {1 << 20});
  try {
    save_checkpoint(folder, big, {.keep_last = 1, .keep_best = true}, Log::null());
    FAIL() << "4 MiB fitted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kCheckpoint);
    EXPECT_THAT(error.what(),
                HasSubstr("cannot save the checkpoint " + folder + "/step-00000200.h5: "));
    EXPECT_THAT(error.what(), HasSubstr(cause + "; it needs 4"));
    EXPECT_THAT(
        error.what(),
        HasSubstr("are free. Earlier checkpoints are intact. Free space, raise the quota or "
                  "file size limit, lower keep_last, or save to another disk"));
  }
  const FoundCheckpoint found = find_newest(folder);
  ASSERT_TRUE(found.newest.has_value());
  EXPECT_EQ(found.newest->trainer().step, 100);
  EXPECT_TRUE(found.skipped.empty());
  const auto entries = std::filesystem::directory_iterator(folder);
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1) << "something was left behind";
}

// A disk of 2 MiB.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& folder)
      : folder_(folder),
        is_mounted_(::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=2m") == 0) {}
  ~SmallDisk() {
    if (is_mounted_) ::umount2(folder_.c_str(), MNT_DETACH);
  }
  bool is_mounted() const { return is_mounted_; }

 private:
  std::string folder_;
  bool is_mounted_;
};

TEST(LackOfSpace, AFullDiskLosesNothing) {
  const TemporaryFolder folder;
  const SmallDisk disk(folder.path());
  if (!disk.is_mounted()) GTEST_SKIP() << "mounting a small tmpfs needs root";
  const std::string checkpoints = folder / "checkpoints";
  save_checkpoint(checkpoints, sample_state(100), Log::null());
  expect_survives_lack_of_space(checkpoints, "No space left on device");
}

TEST(LackOfSpace, AFileSizeLimitLosesNothing) {
  const TemporaryFolder folder;
  save_checkpoint(folder.path(), sample_state(100), Log::null());
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  const rlimit limited{1 << 20, old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &limited);
  expect_survives_lack_of_space(folder.path(), "File too large");
  ::setrlimit(RLIMIT_FSIZE, &old);
}

}  // namespace
}  // namespace lockstep
