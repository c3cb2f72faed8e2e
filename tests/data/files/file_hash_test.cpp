// Hashes of files' bytes: whole, in pieces, in probes.
#include "data/files/file_hash.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "tests/fixtures/error_of.h"
#include "tests/fixtures/temporary_folder.h"

namespace lockstep {
namespace {

class FileHash : public testing::Test {
 protected:
  std::string write(const std::string& content) const { return folder_.write("file", content); }
  static Hash128 of(const std::string& text) { return hash128(text.data(), text.size()); }

  TemporaryFolder folder_;
};

std::string numbers(std::size_t bytes) {
  std::string out;
  for (std::size_t i = 0; out.size() < bytes; ++i) out += std::to_string(i);
  out.resize(bytes);
  return out;
}

TEST_F(FileHash, IsThatOfTheBytesInMemory) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{5'000'000}}) {
    const std::string content = numbers(bytes);
    EXPECT_EQ(hash_file(write(content)), of(content)) << bytes;
  }
}

TEST_F(FileHash, OfPiecesCoversTheRange) {
  const std::string content = numbers(1000);
  const std::string path = write(content);
  const std::vector<Hash128> pieces = hash_pieces(path, 10, 95, 9);
  ASSERT_EQ(pieces.size(), 9U);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(pieces[i], of(content.substr(10 + 10 * i, 10)));
  EXPECT_EQ(pieces[8], of(content.substr(90, 5)));
  EXPECT_EQ(hash_pieces(path, 0, 2, 4)[3], of("")) << "pieces beyond the end are empty";
  EXPECT_THROW(hash_pieces(path, 0, 1001, 4), Error);
}

TEST_F(FileHash, OfProbesSeesTheFirstAndTheLastByteAndIsBlindBetweenProbes) {
  const std::string content = numbers(100'000);
  const auto hash = [&](std::string text) { return hash_probes(write(text), 5, 100); };
  const auto changed = [&](std::size_t place) {
    std::string text = content;
    text[place] = 'x';
    return hash(text);
  };
  EXPECT_NE(changed(0), hash(content));
  EXPECT_NE(changed(content.size() - 1), hash(content));
  EXPECT_NE(changed(24'975), hash(content)) << "a quarter of the way to the last probe";
  EXPECT_EQ(changed(1000), hash(content));
  EXPECT_EQ(hash("short"), hash("short"));
  EXPECT_NE(hash("short"), hash("shirt"));
}

TEST(HashCoverage, IsWholeUpToLimitsOfBytesAndFiles) {
  const HashLimits limits{.whole_bytes = 1000, .whole_files = 600, .probed_files = 20};
  EXPECT_EQ(hash_coverage(600, 1000, limits), HashCoverage::kWhole);
  EXPECT_EQ(hash_coverage(20, 1001, limits), HashCoverage::kProbesOfAll);
  EXPECT_EQ(hash_coverage(21, 1001, limits), HashCoverage::kProbesOfSome);
  EXPECT_EQ(hash_coverage(601, 1, limits), HashCoverage::kProbesOfSome);
  EXPECT_TRUE(is_hashed(1, 600, HashCoverage::kProbesOfAll));
  EXPECT_FALSE(is_hashed(1, 600, HashCoverage::kProbesOfSome));
  EXPECT_TRUE(is_hashed(2, 600, HashCoverage::kProbesOfSome));
}

TEST_F(FileHash, NamesAFileThatIsNotThere) {
  EXPECT_THAT(data_error([] { hash_file("/nowhere/at/all"); }),
              testing::HasSubstr("/nowhere/at/all"));
}

}  // namespace
}  // namespace lockstep
