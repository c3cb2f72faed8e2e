// Removing and moving runs: what is refused, and what is left.
#include "trainer/runs/move_run.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "tests/fixtures/error_of.h"
#include "tests/trainer/runs/run_folders.h"
#include "trainer/run/run_lock.h"
#include "trainer/runs/flat_config.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(RemoveRun, LeavesNothingButTheLock) {
  const TemporaryFolder folder;
  const std::string run = make_run(folder, "a");
  const TemporaryFolder outside;
  outside.write("kept", "x");
  fs::create_directory_symlink(outside.path(), run + "/checkpoints/link");
  remove_run(run);
  EXPECT_THAT(folder.names(), ElementsAre(".a.lock"));
  EXPECT_THAT(outside.names(), ElementsAre("kept")) << "no link is followed";
}

TEST(RemoveRun, TakesTheRestOfARemovalThatWasKilled) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "a.removing/checkpoints");
  remove_run(folder / "a.removing");
  EXPECT_THAT(folder.names(), ElementsAre());
}

TEST(RequireMovable, RefusesWhatIsNoRun) {
  const TemporaryFolder folder;
  const std::string run = make_run(folder, "a");
  const auto refusal = [&](const std::string& path) {
    return usage_error([&] { require_movable(path); });
  };
  EXPECT_EQ(refusal(run), "no error");
  EXPECT_EQ(refusal(run + "/"), "no error");
  EXPECT_EQ(refusal(folder / "x"), folder / "x: there is no such run");
  fs::create_directory_symlink(run, folder / "link");
  for (const char* name : {"link", "link/"})
    EXPECT_EQ(refusal(folder / name),
              folder / name + std::string(" is a link: name the folder that it points to, ") + run);
  fs::create_directories(folder / "other");
  EXPECT_EQ(refusal(folder / "other"),
            folder / "other is not a run's folder: it has no config.yaml");
  folder.write("other/config.yaml", "run:\n  name: a\n");
  EXPECT_THAT(refusal(folder / "other"), HasSubstr("it has neither checkpoints nor"));
  fs::create_directories(folder / "other/logs");
  folder.write("other/config.yaml", "debug: true\n");
  EXPECT_THAT(refusal(folder / "other"), HasSubstr("not the resolved config of a run"));
  EXPECT_THAT(refusal(folder.write("file", "")), HasSubstr("is a file"));
}

TEST(RequireMovable, NamesTheProcessThatTrains) {
  const TemporaryFolder folder;
  const std::string run = make_run(folder, "a");
  const RunLock lock(run, SettingsOf::kConfig);
  const std::string expected = fmt::format("{} is in training by process {} (", run, getpid());
  EXPECT_THAT(usage_error([&] { remove_run(run); }), HasSubstr(expected));
  EXPECT_THAT(usage_error([&] { move_run(run, "b"); }), HasSubstr(expected));
  EXPECT_TRUE(fs::exists(run + "/metrics.jsonl"));
}

TEST(MoveRun, SetsThePlaceInItsConfig) {
  const TemporaryFolder folder;
  const std::string run = make_run(folder, "a");
  const MovedRun moved = move_run(run + "/", "b: c");
  EXPECT_EQ(moved.path, folder / "b: c");
  EXPECT_EQ(moved.note, "");
  EXPECT_FALSE(fs::exists(run));
  const FlatConfig config = flat_config(text_of_file(moved.path + "/config.yaml"));
  EXPECT_EQ(config.at("run.name"), "b: c");
  EXPECT_EQ(config.at("run.dir"), folder.path());
  EXPECT_EQ(config.at("model.name"), "mlp");
}

TEST(MoveRun, MovesIntoAFolder) {
  const TemporaryFolder folder;
  make_run(folder, "a");
  fs::create_directories(folder / "old");
  EXPECT_EQ(move_run(folder / "a", folder / "old/").path, folder / "old/a");
  EXPECT_EQ(flat_config(text_of_file(folder / "old/a/config.yaml")).at("run.dir"), folder / "old");
}

TEST(MoveRun, NeverReplacesAnything) {
  const TemporaryFolder folder;
  const std::string run = make_run(folder, "a");
  fs::create_directories(folder / "b");
  EXPECT_EQ(usage_error([&] { move_run(run, "b"); }), folder / "b exists: choose another name");
  EXPECT_THAT(usage_error([&] { move_run(run, folder / "none/b"); }),
              HasSubstr("there is no such folder to move the run into"));
  EXPECT_THAT(usage_error([&] { move_run(run, ".."); }), HasSubstr("is no name for a run"));
  EXPECT_TRUE(fs::exists(run + "/config.yaml"));
}

TEST(MoveRun, FinishesAMoveThatWasKilled) {
  const TemporaryFolder folder;
  const std::string run = make_run(folder, "a");
  fs::rename(run, folder / "b");  // and then it died
  EXPECT_EQ(move_run(run, "b").path, folder / "b");
  EXPECT_EQ(flat_config(text_of_file(folder / "b/config.yaml")).at("run.name"), "b");
}

}  // namespace
}  // namespace lockstep
