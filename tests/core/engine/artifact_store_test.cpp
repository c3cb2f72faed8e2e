// A folder of artifacts survives any damage: a kept artifact is found again unchanged, or not at
// all.
#include "core/engine/artifact_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/base/posix_file.h"
#include "tests/fixtures/file_contents.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Hash128 kKey{1, 2};
constexpr std::uint64_t kStoreHeaderBytes = 64;

struct ArtifactStoreTest : testing::Test {
  ArtifactStoreTest() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    top = fs::path(testing::TempDir()) / fmt::format("ls_store_{}_{}", test->name(), getpid());
    folder = top / "cache";
    fs::create_directories(top);
    log_path = top / "log";
    log = std::make_unique<Log>(
        Log::Options{.console = false, .file = log_path.string(), .debug = 0});
  }
  ~ArtifactStoreTest() override {
    fs::permissions(folder, fs::perms::owner_all, ignored);
    fs::remove_all(top, ignored);
  }

  ArtifactStore store(std::uint64_t max_bytes = 1 << 20, double patience_s = 20) {
    return {{folder.string(), max_bytes, patience_s}, *log};
  }
  fs::path entry(const Hash128& key = kKey) const {
    return folder / fmt::format("lockstep-{}.artifact", key.hex());
  }
  std::vector<std::string> files() const {
    std::vector<std::string> out;
    for (const auto& file : fs::directory_iterator(folder))
      out.push_back(file.path().filename().string());
    return out;
  }
  std::vector<std::string> warnings() const {
    std::ifstream file(log_path);
    std::vector<std::string> out;
    for (std::string line; std::getline(file, line);) out.push_back(line);
    return out;
  }

  fs::path top, folder, log_path;
  std::unique_ptr<Log> log;
  std::error_code ignored;
};

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

/// Runs `work` in a process of its own, which ends with its result as exit code, without running
/// anything of the test's.
pid_t fork_to(const std::function<int()>& work) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  _exit(work());
}

int wait_for(pid_t pid) {
  int status = -1;
  waitpid(pid, &status, 0);
  return status;
}

TEST_F(ArtifactStoreTest, FindsWhatWasKept) {
  const std::string payload("with\0zeros", 10);
  store().save(kKey, payload);
  store().save({3, 4}, "");
  EXPECT_EQ(store().load(kKey), payload);
  EXPECT_EQ(store().load({3, 4}), "");
  EXPECT_EQ(store().load({2, 1}), std::nullopt);
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(ArtifactStoreTest, ReplacesAnEntry) {
  store().save(kKey, "old");
  store().save(kKey, "new and longer");
  EXPECT_EQ(store().load(kKey), "new and longer");
  EXPECT_THAT(files(), SizeIs(1));
}

TEST_F(ArtifactStoreTest, DoesNothingWithoutAFolder) {
  ArtifactStore off({}, *log);
  EXPECT_FALSE(off.enabled());
  off.save(kKey, "payload");
  EXPECT_EQ(off.load(kKey), std::nullopt);
  EXPECT_FALSE(off.claim(kKey).holds());
}

TEST_F(ArtifactStoreTest, MakesAFolderForItsOwnerAlone) {
  store().save(kKey, "payload");
  EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all);
}

TEST_F(ArtifactStoreTest, LeavesFilesOfOthersAlone) {
  fs::create_directories(folder);
  for (const char* name : {".other.tmp", "other.artifact", "notes"}) write(folder / name, "mine");
  store(kStoreHeaderBytes + 3).save(kKey, "abc");
  store(kStoreHeaderBytes + 3).save({3, 4}, "def");
  EXPECT_THAT(files(), testing::UnorderedElementsAre(".other.tmp", "other.artifact", "notes",
                                                     entry({3, 4}).filename()));
}

TEST_F(ArtifactStoreTest, MissesWhateverBitIsFlipped) {
  store().save(kKey, "payload");
  const std::string good = contents_of(entry());
  ASSERT_EQ(good.size(), kStoreHeaderBytes + 7);
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    write(entry(), bad);
    EXPECT_EQ(store().load(kKey), std::nullopt) << "bit " << bit;
    EXPECT_FALSE(fs::exists(entry()));
  }
  EXPECT_THAT(warnings(), SizeIs(8 * good.size()));
}

TEST_F(ArtifactStoreTest, MissesWhateverIsCutOffOrAdded) {
  store().save(kKey, "payload");
  const std::string good = contents_of(entry());
  for (std::size_t size = 0; size < good.size(); ++size) {
    write(entry(), good.substr(0, size));
    EXPECT_EQ(store().load(kKey), std::nullopt) << size << " bytes";
  }
  write(entry(), good + "x");
  EXPECT_EQ(store().load(kKey), std::nullopt);
  store().save(kKey, "again");
  EXPECT_EQ(store().load(kKey), "again");
}

TEST_F(ArtifactStoreTest, NamesWhatIsWrongOnceAndReplacesIt) {
  store().save(kKey, "payload");
  write(entry(), "LSART0, an older format, and longer than the header of this one; by far");
  ArtifactStore one = store();
  EXPECT_EQ(one.load(kKey), std::nullopt);
  EXPECT_EQ(one.load(kKey), std::nullopt);
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr(fmt::format(
                              "compile cache: {} cannot be used and is replaced: it is not an "
                              "artifact, or one of another version",
                              entry().string()))));
}

TEST_F(ArtifactStoreTest, RefusesTheEntryOfAnotherKey) {
  store().save({3, 4}, "payload");
  fs::rename(entry({3, 4}), entry());
  EXPECT_EQ(store().load(kKey), std::nullopt);
}

TEST_F(ArtifactStoreTest, MissesWhatIsNoFile) {
  fs::create_directories(entry());
  EXPECT_EQ(store().load(kKey), std::nullopt);
  ASSERT_EQ(mkfifo(entry().c_str(), 0600), 0);
  EXPECT_EQ(store().load(kKey), std::nullopt);
  store().save(kKey, "payload");
  EXPECT_EQ(store().load(kKey), "payload");
}

TEST_F(ArtifactStoreTest, EvictsTheLeastRecentlyUsed) {
  ArtifactStore small = store(3 * (kStoreHeaderBytes + 4));
  const auto used = [&](std::uint64_t key, int hours_ago) {
    fs::last_write_time(entry({key, 0}),
                        fs::file_time_type::clock::now() - std::chrono::hours(hours_ago));
  };
  for (const std::uint64_t key : {1, 2, 3}) small.save({key, 0}, "four");
  used(1, 3);
  used(2, 2);
  used(3, 1);
  EXPECT_TRUE(small.load({1, 0}));  // now the most recently used
  small.save({4, 0}, "four");
  EXPECT_FALSE(fs::exists(entry({2, 0})));
  small.save({5, 0}, "four and two more");
  EXPECT_FALSE(fs::exists(entry({3, 0})));
  EXPECT_FALSE(fs::exists(entry({1, 0})));
  EXPECT_TRUE(small.load({4, 0}));
  EXPECT_TRUE(small.load({5, 0}));
}

TEST_F(ArtifactStoreTest, DoesNotKeepMoreThanItMay) {
  ArtifactStore small = store(kStoreHeaderBytes + 4);
  small.save(kKey, "four");
  small.save({3, 4}, "fives");
  EXPECT_TRUE(small.load(kKey));
  EXPECT_FALSE(small.load({3, 4}));
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(ArtifactStoreTest, WarnsOnceWhenTheFolderCannotBeMade) {
  write(folder, "a file");
  ArtifactStore one = store();
  EXPECT_FALSE(one.claim(kKey).holds());
  one.save(kKey, "payload");
  one.save(kKey, "payload");
  EXPECT_EQ(one.load(kKey), std::nullopt);
  EXPECT_THAT(warnings(),
              ElementsAre(HasSubstr("compile cache: nothing is stored: cannot create ")));
}

TEST_F(ArtifactStoreTest, ReadsFromAFolderThatCannotBeWrittenTo) {
  store().save(kKey, "payload");
  fs::permissions(folder, fs::perms::owner_read | fs::perms::owner_exec);
  // Root may write anywhere: another user shows what happens, where there is one.
  const pid_t child = fork_to([&] {
    if (getuid() == 0) {
      fs::permissions(folder, static_cast<fs::perms>(0555));
      if (setuid(65534) != 0) return 3;
    }
    ArtifactStore one = store();
    if (one.load(kKey) != "payload" || one.claim({3, 4}).holds()) return 1;
    one.save({3, 4}, "payload");
    return one.load({3, 4}) ? 2 : 0;
  });
  EXPECT_EQ(wait_for(child), 0);
  EXPECT_THAT(warnings(), SizeIs(1));
}

TEST_F(ArtifactStoreTest, SurvivesAFullDisk) {
  store().save(kKey, "small");
  const pid_t child = fork_to([&] {
    const rlimit limit{kStoreHeaderBytes + 100, kStoreHeaderBytes + 100};
    setrlimit(RLIMIT_FSIZE, &limit);
    ArtifactStore one({folder.string()}, Log::null());
    one.save(kKey, std::string(1000, 'x'));
    return one.load(kKey) == "small" ? 0 : 1;
  });
  EXPECT_EQ(wait_for(child), 0);
  EXPECT_THAT(files(), SizeIs(1));
}

std::string big_payload(char fill) {
  return std::string(400'000, fill);
}

TEST_F(ArtifactStoreTest, IsWholeAfterItsWriterWasKilledAtAnyInstant) {
  store().save(kKey, big_payload('a'));
  constexpr int kKills = 60;
  for (int i = 0; i < kKills; ++i) {
    const pid_t child = fork_to([&] {
      ArtifactStore one({folder.string()}, Log::null());
      for (char fill = 'b';; fill = fill == 'y' ? 'b' : static_cast<char>(fill + 1))
        one.save(kKey, big_payload(fill));
      return 0;
    });
    std::this_thread::sleep_for(std::chrono::microseconds(300 * i));
    kill(child, SIGKILL);
    wait_for(child);
    const auto found = store().load(kKey);
    ASSERT_TRUE(found) << "after kill " << i;
    EXPECT_EQ(*found, big_payload(found->front()));
  }
  store().save(kKey, "last");
  EXPECT_THAT(files(), ElementsAre(entry().filename()));  // no temporaries of the dead
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(ArtifactStoreTest, ServesManyProcessesAtOnce) {
  constexpr int kProcesses = 4;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    children.push_back(fork_to([&, p] {
      // Room for two of three entries: there is always somebody who evicts.
      ArtifactStore one({folder.string(), 900'000}, *log);
      for (int i = 0; i < 40; ++i) {
        const Hash128 key{static_cast<std::uint64_t>((i + p) % 3), 0};
        one.save(key, big_payload(static_cast<char>('a' + p)));
        const auto found = one.load(key);
        if (found && *found != big_payload(found->front())) return 1;
      }
      return 0;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(ArtifactStoreTest, AFolderThatOthersWriteToIsNotUsed) {
  store().save(kKey, "mine");
  for (const auto& [mode, text] : {std::pair{0777U, "0777"}, {01777U, "1777"}, {0770U, "0770"}}) {
    ASSERT_EQ(chmod(folder.c_str(), mode), 0);
    fs::resize_file(log_path, 0);
    ArtifactStore open = store();
    EXPECT_EQ(open.load(kKey), std::nullopt);
    EXPECT_FALSE(open.claim({3, 4}).holds());
    open.save({3, 4}, "more");
    EXPECT_THAT(files(), ElementsAre(entry().filename()));
    EXPECT_THAT(warnings(),
                ElementsAre(HasSubstr(fmt::format(
                    "compile cache: the folder {} is not used: others can write to it (mode {}), "
                    "and a user who can write to it can make this process run any code; allow only "
                    "yourself to write to it (chmod go-w) or set device.compile_cache to another",
                    folder.string(), text))));
  }
  ASSERT_EQ(chmod(folder.c_str(), 0755), 0);
  EXPECT_EQ(store().load(kKey), "mine");
}

TEST_F(ArtifactStoreTest, WhatBelongsToAnotherUserIsNotUsed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  store().save(kKey, "mine");
  ASSERT_EQ(chown(entry().c_str(), 12345, static_cast<gid_t>(-1)), 0);
  EXPECT_EQ(store().load(kKey), std::nullopt);
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr("it belongs to user 12345")));
  store().save(kKey, "mine again");
  EXPECT_EQ(store().load(kKey), "mine again");
  ASSERT_EQ(chown(folder.c_str(), 12345, static_cast<gid_t>(-1)), 0);
  EXPECT_EQ(store().load(kKey), std::nullopt);
  EXPECT_THAT(warnings().back(), HasSubstr("is not used: it belongs to user 12345, and"));
}

TEST_F(ArtifactStoreTest, AnEntryThatOthersWriteToIsReplaced) {
  const mode_t before = umask(0);
  store().save(kKey, "mine");
  umask(before);
  EXPECT_EQ(fs::status(entry()).permissions(), static_cast<fs::perms>(0644));
  ASSERT_EQ(chmod(entry().c_str(), 0666), 0);
  EXPECT_EQ(store().load(kKey), std::nullopt);
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr("cannot be used and is replaced: others can write "
                                                "to it (mode 0666)")));
  store().save(kKey, "mine again");
  EXPECT_EQ(store().load(kKey), "mine again");
}

TEST_F(ArtifactStoreTest, LetsOneProcessComputeWhatAllNeed) {
  constexpr int kProcesses = 6;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    children.push_back(fork_to([&] {
      ArtifactStore one = store();
      const auto claim = one.claim(kKey);
      if (one.load(kKey)) return 0;
      if (!claim.holds()) return 2;
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      one.save(kKey, "computed");
      return 1;
    }));
  }
  int computed = 0;
  for (const pid_t child : children) {
    const int status = wait_for(child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    computed += WEXITSTATUS(status);
  }
  EXPECT_EQ(computed, 1);
  EXPECT_THAT(files(), ElementsAre(entry().filename()));  // and no lock
}

TEST_F(ArtifactStoreTest, FreesTheClaimOfAProcessThatWasKilled) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t holder = fork_to([&] {
    ArtifactStore one = store();
    const auto claim = one.claim(kKey);
    (void)!::write(ready[1], "x", 1);
    pause();
    return 0;
  });
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    kill(holder, SIGKILL);
  });
  EXPECT_TRUE(store().claim(kKey).holds());
  killer.join();
  EXPECT_EQ(WTERMSIG(wait_for(holder)), SIGKILL);
  close(ready[0]);
  close(ready[1]);
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(ArtifactStoreTest, WaitsForAClaimNoLongerThanItsPatience) {
  ArtifactStore one = store(1 << 20, 0.05);
  const auto held = one.claim(kKey);
  EXPECT_TRUE(held.holds());
  EXPECT_FALSE(one.claim(kKey).holds());
  EXPECT_TRUE(one.claim({3, 4}).holds());
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr("another process has been compiling the same")));
}

}  // namespace
}  // namespace lockstep
