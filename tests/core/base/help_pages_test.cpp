#include "core/base/help_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

namespace lockstep {
namespace {

namespace fs = std::filesystem;

std::string text_of_file(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// "## Ranks that are stuck" -> "ranks-that-are-stuck", as on GitHub.
std::set<std::string> anchors_of(const fs::path& page) {
  std::set<std::string> out;
  std::ifstream file(page);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("#")) continue;
    std::string anchor;
    for (const char c : line.substr(line.find_first_not_of("# "))) {
      if (c == ' ' || c == '-') anchor += '-';
      if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_')
        anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    out.insert(anchor);
  }
  return out;
}

TEST(HelpPages, ThePagesAndTheirSectionsAreThere) {
  for (const HelpPage& row : help_pages()) {
    const std::string page(row.page);
    const std::size_t hash = page.find('#');
    const fs::path path = fs::path(LOCKSTEP_SOURCE_DIR) / page.substr(0, hash);
    ASSERT_TRUE(fs::is_regular_file(path)) << page;
    if (hash != page.npos) {
      EXPECT_TRUE(anchors_of(path).contains(page.substr(hash + 1))) << page;
    }
  }
}

/// A phrase that no source has is of a message that was changed.
TEST(HelpPages, ThePhrasesAreInMessages) {
  std::string sources;
  for (const char* folder : {"core", "collectives", "watch", "data", "checkpoint", "trainer"})
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(LOCKSTEP_SOURCE_DIR) / folder))
      if (entry.path().extension() == ".cpp" && entry.path().filename() != "help_pages.cpp")
        sources += text_of_file(entry.path());
  for (const HelpPage& row : help_pages())
    EXPECT_NE(sources.find(row.phrase), sources.npos) << row.phrase;
}

TEST(HelpPages, EveryRowIsReached) {
  for (const HelpPage& row : help_pages()) {
    const ErrorKind kind = row.kind.value_or(ErrorKind::kUsage);
    EXPECT_EQ(help_page(kind, fmt::format("x: {} y", row.phrase)), row.page) << row.phrase;
  }
}

TEST(HelpPages, EveryKindButABugAndUsageHasAPage) {
  for (const ErrorKind kind : {ErrorKind::kData, ErrorKind::kCheckpoint, ErrorKind::kNonFinite,
                               ErrorKind::kOutOfMemory, ErrorKind::kPeer, ErrorKind::kPreempted})
    EXPECT_NE(help_page(kind, "anything"), "");
  EXPECT_EQ(help_page(ErrorKind::kInternal, "anything"), "");
  EXPECT_EQ(help_page(ErrorKind::kUsage, "unknown command 'trian'"), "");
  EXPECT_EQ(see_help_page(ErrorKind::kUsage, "x"), "");
  EXPECT_EQ(see_help_page(ErrorKind::kOutOfMemory, "x"),
            "\nsee docs/guides/memory.md#what-goes-wrong");
}

}  // namespace
}  // namespace lockstep
