#include "core/base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/error.h"
#include "tests/fixtures/file_contents.h"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

struct LogFile : testing::Test {
  LogFile() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path = std::filesystem::path(testing::TempDir()) /
           fmt::format("lockstep_log_{}_{}", test->name(), getpid());
    std::filesystem::remove(path);
  }
  ~LogFile() override { std::filesystem::remove(path); }

  Log::Options options(int debug = 0) const {
    return {.console = false, .file = path.string(), .debug = debug};
  }
  std::string text() const { return contents_of(path); }

  std::filesystem::path path;
};

TEST_F(LogFile, LinesCarryDateAndLevel) {
  Log log(options());
  log.info("progress: {}/{}", 1550, 5000);
  EXPECT_THAT(text(),
              MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3} "
                           "info: progress: 1550/5000\n"));
}

TEST_F(LogFile, WarningsAndErrorsSayWhatTheyAre) {
  Log log(options());
  log.warn("slow");
  log.error("gone");
  EXPECT_THAT(text(), MatchesRegex("\\S+ \\S+ warning: slow\n\\S+ \\S+ error: gone\n"));
}

TEST_F(LogFile, BracesInAMessageAreText) {
  Log log(options());
  log.info("{}", "{0} {} {x}");
  log.warn("{}", "{0}");
  EXPECT_THAT(text(), HasSubstr("info: {0} {} {x}\n"));
  EXPECT_THAT(text(), HasSubstr("warning: {0}\n"));
}

TEST_F(LogFile, DebugLinesAppearUpToTheLevel) {
  Log log(options(2));
  EXPECT_EQ(log.debug_level(), 2);
  log.debug(1, "one");
  log.debug(2, "two");
  log.debug(3, "three");
  EXPECT_THAT(text(), HasSubstr(" one\n"));
  EXPECT_THAT(text(), HasSubstr(" two\n"));
  EXPECT_THAT(text(), Not(HasSubstr("three")));
}

TEST_F(LogFile, IsAppendedTo) {
  Log(options()).info("first run");
  Log(options()).info("second run");
  EXPECT_THAT(text(), HasSubstr("first run\n"));
  EXPECT_THAT(text(), HasSubstr("second run\n"));
}

TEST_F(LogFile, EveryLineIsThereAtOnce) {
  Log log(options(1));
  log.info("a");
  EXPECT_THAT(text(), HasSubstr(" a\n"));
  log.debug(1, "b");
  EXPECT_THAT(text(), HasSubstr(" b\n"));
}

TEST(Log, ConsoleLinesBeginWithTheTime) {
  testing::internal::CaptureStdout();
  {
    Log log({.console = true, .file = {}, .debug = 0});
    log.info("progress: {}", 1);
    log.debug(1, "unseen");
    log.warn("slow");
    log.error("gone");
  }
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              MatchesRegex("[0-9]{2}:[0-9]{2}:[0-9]{2} progress: 1\n[0-9:]+ warning: slow\n"
                           "[0-9:]+ error: gone\n"));
}

TEST(Log, NullWritesNothing) {
  testing::internal::CaptureStdout();
  Log::null().error("unseen");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

TEST(Log, AnUnusableFileIsTheUsersError) {
  try {
    Log log({.console = false, .file = "/proc/no/such/folder/log", .debug = 0});
    FAIL() << "the log was opened";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("cannot open the log file /proc/no/such/folder/log"));
  }
}

}  // namespace
}  // namespace lockstep
