#include "trainer/telemetry/json_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/base/error.h"
#include "tests/fixtures/temporary_folder.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::ThrowsMessage;

std::vector<std::string> told_lines_of(const std::string& path) {
  std::vector<std::string> out;
  for_each_json_line(path, [&](const JsonLine& line) {
    out.push_back(
        fmt::format("{}: {}{}", line.number, line.text.substr(0, 20), line.torn ? " (torn)" : ""));
  });
  return out;
}

TEST(JsonLines, AreThoseOfTheFileAndItsTornEnd) {
  const TemporaryFolder folder;
  EXPECT_THAT(told_lines_of(folder.write("a", "{}\n\n{1}\n{2")),
              ElementsAre("1: {}", "2: ", "3: {1}", "4: {2 (torn)"));
  EXPECT_THAT(told_lines_of(folder.write("b", "")), ElementsAre());
  const std::string longer(1'000'000, 'x');  // than what is read at once
  EXPECT_THAT(told_lines_of(folder.write("c", longer + "\n" + longer + "\n")),
              ElementsAre("1: xxxxxxxxxxxxxxxxxxxx", "2: xxxxxxxxxxxxxxxxxxxx"));
}

TEST(JsonLines, AreBounded) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a", "{}\n" + std::string(kMaxJsonLineBytes + 1, 'x'));
  EXPECT_THAT([&] { told_lines_of(path); },
              ThrowsMessage<Error>(path + ":2: has more than 16777216 bytes, which no line of a "
                                          "run has"));
  EXPECT_THAT([] { told_lines_of("/dev/zero"); },
              ThrowsMessage<Error>("/dev/zero: not a regular file"));
}

}  // namespace
}  // namespace lockstep
