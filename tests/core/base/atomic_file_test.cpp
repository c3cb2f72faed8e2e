#include "core/base/atomic_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/fixtures/error_of.h"
#include "tests/fixtures/file_contents.h"
#include "tests/fixtures/temporary_folder.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

/// No file may get longer than this while it lives: a disk that is full.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit limit{bytes, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
};

void write(const std::string& path, std::string_view bytes) {
  write_file(path, bytes, ErrorKind::kUsage);
}

TEST(WriteFile, MakesAFileOrReplacesIt) {
  const TemporaryFolder folder;
  write(folder / "a", "new");
  EXPECT_EQ(contents_of(folder / "a"), "new");
  write(folder / "a", "newer than that");
  EXPECT_EQ(contents_of(folder / "a"), "newer than that");
  write(folder / "a", "");
  EXPECT_EQ(contents_of(folder / "a"), "");
  EXPECT_THAT(folder.names(), ElementsAre("a"));
}

TEST(WriteFile, ChangesNothingOnAFullDisk) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a", "old");
  {
    const FullDisk full(100);
    EXPECT_EQ(usage_error([&] { write(path, std::string(101, 'x')); }),
              "cannot write " + path + ": File too large");
    EXPECT_EQ(usage_error([&] { write(folder / "b", std::string(101, 'x')); }),
              "cannot write " + (folder / "b") + ": File too large");
  }
  EXPECT_EQ(contents_of(path), "old");
  EXPECT_THAT(folder.names(), ElementsAre("a"));
}

TEST(WriteFile, KeepsPermissionsAndLinks) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a", "old");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  fs::create_symlink("a", folder / "link");
  fs::create_symlink(folder / "link", folder / "link_of_link");
  write(folder / "link_of_link", "new");
  EXPECT_EQ(contents_of(path), "new");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0640U);
  fs::create_symlink("not_yet", folder / "promise");
  write(folder / "promise", "kept");
  EXPECT_EQ(contents_of(folder / "not_yet"), "kept");
  EXPECT_TRUE(fs::is_symlink(folder / "promise"));
  fs::create_symlink("round", folder / "round");
  EXPECT_EQ(usage_error([&] { write(folder / "round", "x"); }),
            folder / "round" + ": Too many levels of symbolic links");
}

TEST(WriteFile, GivesDevicesAndOpenPipesTheBytes) {
  const TemporaryFolder folder;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::string pipe = fmt::format("/dev/fd/{}", ends[1]);
  write(pipe, "through a pipe");
  std::string read(64, '\0');
  read.resize(static_cast<std::size_t>(::read(ends[0], read.data(), read.size())));
  EXPECT_EQ(read, "through a pipe");
  ::close(ends[0]);
  const auto before = ::signal(SIGPIPE, SIG_IGN);  // as in main()
  EXPECT_EQ(usage_error([&] { write(pipe, "x"); }), "cannot write " + pipe + ": Broken pipe");
  ::close(ends[1]);
  ::signal(SIGPIPE, before);
  write("/dev/null", "nothing");
  EXPECT_EQ(usage_error([&] { write("/dev/full", "x"); }),
            "cannot write /dev/full: No space left on device");

  const std::string log = folder.write("log", "before\n");
  const int descriptor = ::open(log.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  fs::create_symlink(fmt::format("/proc/self/fd/{}", descriptor), folder / "stdout");
  write(folder / "stdout", "one\n");
  write(fmt::format("/dev/fd/{}", descriptor), "two\n");
  EXPECT_EQ(::write(descriptor, "after\n", 6), 6);
  ::close(descriptor);
  EXPECT_EQ(contents_of(log), "before\none\ntwo\nafter\n") << "what is open is not replaced";
}

TEST(WriteFile, RefusesWhatIsNoFile) {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(usage_error([&] { write(pipe, "x"); }), pipe + ": not a regular file");
  EXPECT_EQ(usage_error([&] { check_can_write(pipe, ErrorKind::kUsage); }),
            pipe + ": not a regular file");
  fs::remove(pipe);
  EXPECT_EQ(usage_error([&] { write(folder.path(), "x"); }),
            folder.path() + ": a folder, not a file");
  EXPECT_EQ(usage_error([&] { write(folder / "none/a", "x"); }),
            "cannot create " + (folder / "none/a") + ": No such file or directory");
  EXPECT_EQ(usage_error([&] { check_can_write(folder / "none/a", ErrorKind::kUsage); }),
            "cannot create " + (folder / "none/a") + ": No such file or directory");
  check_can_write(folder / "a", ErrorKind::kUsage);
  EXPECT_THAT(folder.names(), ElementsAre());
  EXPECT_EQ(usage_error([] { check_can_write("/proc/none", ErrorKind::kUsage); }),
            "cannot write /proc/none: No such file or directory");
  check_can_write("/dev/null", ErrorKind::kUsage);
}

TEST(WriteFile, RemovesWhatDeadWritersLeft) {
  const TemporaryFolder folder;
  folder.write(".a.json.1-0.tmp", "unfinished");
  folder.write(".a.jsonl.1-0.tmp", "of another file");
  const AtomicFile living(folder / "a.json", ErrorKind::kUsage);
  write(folder / "a.json", "x");
  EXPECT_EQ(folder.names().size(), 3U) << "a.json, the other file's, and that of the living writer";
  EXPECT_FALSE(fs::exists(folder / ".a.json.1-0.tmp"));
}

TEST(WriteFile, TakesLongNames) {
  const TemporaryFolder folder;
  const std::string name(255, 'n');
  write(folder / name, "x");
  EXPECT_THAT(folder.names(), ElementsAre(name));
}

}  // namespace
}  // namespace lockstep
