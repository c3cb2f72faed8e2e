#include "trainer/launch/launch_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "core/base/error.h"
#include "tests/fixtures/file_contents.h"
#include "tests/fixtures/temporary_folder.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

/// A folder of a launcher that was killed.
std::string left_in(const std::string& parent) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t launcher = ::fork();
  if (launcher == 0) {
    const LaunchFolder folder(parent);
    (void)!::write(ends[1], folder.path().data(), folder.path().size());
    ::_exit(0);  // without destructors
  }
  ::waitpid(launcher, nullptr, 0);
  std::string out(4096, '\0');
  out.resize(static_cast<std::size_t>(::read(ends[0], out.data(), out.size())));
  for (const int end : ends) ::close(end);
  return out;
}

TEST(LaunchFolder, IsOfThisUserAloneAndGoesAtTheEnd) {
  const TemporaryFolder parent;
  {
    const LaunchFolder folder(parent.path());
    EXPECT_THAT(folder.path(), StartsWith(parent / "lockstep-"));
    struct stat status {};
    ASSERT_EQ(::stat(folder.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, 0700U);
  }
  EXPECT_THAT(parent.names(), IsEmpty());
}

TEST(LaunchFolder, RemovesWhatKilledLaunchersLeft) {
  const TemporaryFolder parent;
  const std::string left = left_in(parent.path());
  fs::create_directories(left + "/ompi.node/1/2");
  ASSERT_TRUE(fs::exists(left));
  const LaunchFolder living(parent.path());
  EXPECT_FALSE(fs::exists(left));
  const LaunchFolder next(parent.path() + "/");
  EXPECT_TRUE(fs::exists(living.path()));
}

TEST(LaunchFolder, LeavesWhatIsNotOfALauncher) {
  const TemporaryFolder parent;
  const std::string left = left_in(parent.path());
  fs::rename(left, parent / "kept");
  fs::create_directories(parent / "lockstep-models");
  fs::create_directory_symlink(parent / "kept", parent / "lockstep-linked");
  { const LaunchFolder folder(parent.path()); }
  EXPECT_THAT(parent.names(), ElementsAre("kept", "lockstep-linked", "lockstep-models"));
}

TEST(LaunchFolder, StaysWhileAProcessHasItAsItsTmpdir) {
  const TemporaryFolder parent;
  const std::string left = left_in(parent.path());
  const std::string setting = "TMPDIR=" + left;
  const pid_t sleeper = ::fork();
  if (sleeper == 0) {
    char* const environment[] = {const_cast<char*>(setting.c_str()), nullptr};
    char* const words[] = {const_cast<char*>("sleep"), const_cast<char*>("1000"), nullptr};
    ::execve("/bin/sleep", words, environment);
    ::_exit(1);
  }
  // The kernel shows a program's name before its environment.
  const fs::path environment_file = fs::path("/proc") / std::to_string(sleeper) / "environ";
  while (!contents_of(environment_file).starts_with(setting)) {
  }
  { const LaunchFolder folder(parent.path()); }
  EXPECT_TRUE(fs::exists(left));
  ::kill(sleeper, SIGKILL);
  ::waitpid(sleeper, nullptr, 0);
  { const LaunchFolder folder(parent.path()); }
  EXPECT_FALSE(fs::exists(left));
}

}  // namespace
}  // namespace lockstep
