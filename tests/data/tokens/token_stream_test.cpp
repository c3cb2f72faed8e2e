#include "data/tokens/token_stream.h"

#include <gtest/gtest.h>

#include <chrono>
#include <latch>
#include <thread>

#include "data/tokens/synthetic_tokens.h"
#include "data/tokens/token_shards.h"
#include "tests/data/tokens/all_of.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/file_contents.h"
#include "tests/fixtures/temporary_folder.h"

namespace lockstep {
namespace {

using Ids = std::vector<std::int32_t>;

TEST(MemoryTokens, RefusesATokenOutsideTheVocabulary) {
  EXPECT_EQ(data_error([] {
              MemoryTokens("a.txt", {0, 3, 7}, 7);
            }),
            "a.txt: token 7 at position 2 is outside the vocabulary of 7");
  EXPECT_EQ(data_error([] { MemoryTokens("a.txt", {-1}, 7); }),
            "a.txt: token -1 at position 0 is outside the vocabulary of 7");
}

TEST(TokenSlice, ReadsItsRangeOnly) {
  const auto whole = std::make_shared<MemoryTokens>("a.txt", Ids{5, 6, 7, 8}, 10);
  const TokenSlice slice(whole, 1, 3);
  EXPECT_EQ(all_of(slice), (Ids{6, 7}));
  EXPECT_EQ(slice.describe(), "a.txt (tokens 1 to 3)");
  EXPECT_EQ(usage_error([&] { TokenSlice(whole, 2, 5); }),
            "the range [2, 5) is not a part of the 4 tokens of a.txt");
}

TEST(TokenStream, DigestDependsOnTheTokensAndNotOnWhereTheyAre) {
  const TemporaryFolder folder;
  write_token_shard(folder.path("a.bin"), Ids{1, 2, 3});
  const MemoryTokens memory("x", {1, 2, 3}, 10);
  EXPECT_EQ(TokenShards({folder.path("a.bin")}, 10).digest(), memory.digest());
  EXPECT_NE(MemoryTokens("x", {1, 2, 4}, 10).digest(), memory.digest());
  // sha256sum of the bytes 01 00 02 00 03 00
  EXPECT_EQ(memory.digest(), "047dbf5366372631ba7e3e02520e651446b899c96c4b64663bac378a298a7bf7");
}

TEST(SyntheticTokens, AreAFunctionOfSeedAndPosition) {
  const SyntheticTokens tokens(1000, 50, 7);
  const Ids all = all_of(tokens);
  Ids some(10);
  tokens.read(123, some);
  EXPECT_EQ(some, Ids(all.begin() + 123, all.begin() + 133));
  EXPECT_NE(all, all_of(SyntheticTokens(1000, 50, 8)));
  std::vector<int> seen(50);
  for (const std::int32_t token : all) ++seen.at(static_cast<std::size_t>(token));
  EXPECT_GT(*std::min_element(seen.begin(), seen.end()), 0) << "1000 draws cover 50 tokens";
}

TEST(TokenShards, JoinsFilesOfBothKinds) {
  const TemporaryFolder folder;
  write_token_shard(folder.path("a.bin"), Ids{1, 2, 3});
  folder.write("b.bin", TemporaryFolder::bytes_of<std::uint16_t>({4, 5}));
  const TokenShards shards({folder.path("a.bin"), folder.path("b.bin")}, 10);
  EXPECT_EQ(all_of(shards), (Ids{1, 2, 3, 4, 5}));
  Ids across(3);
  shards.read(1, across);
  EXPECT_EQ(across, (Ids{2, 3, 4}));
  EXPECT_EQ(shards.source(2), folder.path("a.bin"));
  EXPECT_EQ(shards.source(3), folder.path("b.bin"));
}

TEST(TokenShards, HasTheHeaderOfLlmC) {
  const TemporaryFolder folder;
  write_token_shard(folder.path("a.bin"), Ids{7, 50256});
  std::vector<std::int32_t> header(256, 0);
  header[0] = 20240520;  // source: karpathy/llm.c, dev/data/data_common.py
  header[1] = 1;
  header[2] = 2;
  const std::string expected =
      TemporaryFolder::bytes_of(header) + TemporaryFolder::bytes_of<std::uint16_t>({7, 50256});
  EXPECT_EQ(contents_of(folder.path("a.bin")), expected);
}

struct BadShard {
  const char* name;
  std::vector<std::int32_t> head;  ///< first words of a 1024-byte header
  std::size_t header_bytes;
  std::size_t tokens;
  const char* message;  ///< after "<path>: "
};

class BadTokenShard : public testing::TestWithParam<BadShard> {};

TEST_P(BadTokenShard, IsRefused) {
  const TemporaryFolder folder;
  const BadShard& bad = GetParam();
  std::vector<std::int32_t> header(256, 0);
  std::copy(bad.head.begin(), bad.head.end(), header.begin());
  const std::string path =
      folder.write("x.bin", TemporaryFolder::bytes_of(header).substr(0, bad.header_bytes) +
                                std::string(2 * bad.tokens, '\1'));
  EXPECT_EQ(data_error([&] { TokenShards({path}, 65536, TokenFileFormat::kLlmC); }),
            path + ": " + bad.message);
}

INSTANTIATE_TEST_SUITE_P(
    Headers, BadTokenShard,
    testing::Values(
        BadShard{"Truncated",
                 {20240520, 1, 3},
                 1024,
                 2,
                 "truncated: the header says 3 tokens, which need 1030 bytes, but it has 1028"},
        BadShard{"Oversized",
                 {20240520, 1, 3},
                 1024,
                 4,
                 "oversized: the header says 3 tokens, which need 1030 bytes, but it has 1032"},
        BadShard{"HalfAHeader",
                 {20240520, 1, 3},
                 500,
                 0,
                 "truncated: the header alone has 1024 bytes, the file 500"},
        BadShard{"Version",
                 {20240520, 2, 3},
                 1024,
                 3,
                 "version 2 of the token file format is not supported, only 1"},
        BadShard{"Magic",
                 {12345, 1, 3},
                 1024,
                 3,
                 "not an llm.c token file: magic 12345 instead of 20240520"},
        BadShard{"NegativeCount", {20240520, 1, -5}, 1024, 3, "the header says -5 tokens"},
        BadShard{"NoTokens", {20240520, 1, 0}, 1024, 0, "no tokens in it (1024 bytes)"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(TokenShards, RefusesWhatIsNotAFileOfTokens) {
  const TemporaryFolder folder;
  const auto open = [&](const std::string& path) {
    return data_error([&] { TokenShards({path}, 10); });
  };
  const std::string missing = folder.path("missing.bin");
  EXPECT_EQ(open(missing), missing + ": cannot be opened: No such file or directory");
  EXPECT_EQ(open(folder.path("")), folder.path("") + ": not a regular file");
  EXPECT_EQ(open("/dev/zero"), "/dev/zero: not a regular file");
  const std::string odd = folder.write("odd.bin", "abc");
  EXPECT_EQ(open(odd), odd + ": headerless 16-bit tokens need an even number of bytes, not 3");
  const std::string empty = folder.write("empty.bin", "");
  EXPECT_EQ(open(empty), empty + ": no tokens in it (0 bytes)");
  const std::string wide =
      folder.write("wide.bin", TemporaryFolder::bytes_of<std::int32_t>({20240801, 7, 0}));
  EXPECT_EQ(open(wide), wide + ": llm.c files of 32-bit tokens (magic 20240801) are not supported");
}

TEST(TokenShards, NamesFilePositionAndValueOfATokenOutsideTheVocabulary) {
  const TemporaryFolder folder;
  write_token_shard(folder.path("a.bin"), Ids{1, 2});
  write_token_shard(folder.path("b.bin"), Ids{3, 99, 4});
  const TokenShards shards({folder.path("a.bin"), folder.path("b.bin")}, 50);
  Ids out(2);
  EXPECT_NO_THROW(shards.read(1, out));
  EXPECT_EQ(data_error([&] { shards.read(2, out); }),
            folder.path("b.bin") + ": token 99 at position 1 is outside the vocabulary of 50");
}

TEST(TokenShards, AFileThatShrinksUnderTheRunIsAnErrorAndNotASignal) {
  const TemporaryFolder folder;
  write_token_shard(folder.path("a.bin"), Ids(10000, 1));
  const TokenShards shards({folder.path("a.bin")}, 50);
  std::filesystem::resize_file(folder.path("a.bin"), 1024);
  Ids out(10);
  EXPECT_EQ(data_error([&] { shards.read(9000, out); }),
            folder.path("a.bin") + ": shrank from 21024 to 1024 bytes while it was in use");
}

// With a mapping most of these ended in SIGBUS: the file shrinks between its check and the touch.
TEST(TokenShards, AFileMayShrinkAtAnyInstantOfARead) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.bin");
  constexpr int kTokens = 1 << 19;
  for (int attempt = 0; attempt < 20; ++attempt) {
    write_token_shard(path, Ids(kTokens, 1));
    const TokenShards shards({path}, 50);
    Ids out(kTokens);
    std::latch started(2);
    std::thread cutter([&] {
      started.arrive_and_wait();
      std::filesystem::resize_file(path, 1024);
    });
    started.arrive_and_wait();
    EXPECT_EQ(data_error([&] {
                while (true) shards.read(0, out);
              }),
              path + ": shrank from 1049600 to 1024 bytes while it was in use");
    cutter.join();
  }
}

TEST(TokenShards, NoticesAFileThatIsRewrittenInPlace) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.bin");
  write_token_shard(path, Ids(1000, 1));
  const TokenShards shards({path}, 50);
  Ids out(10);
  shards.read(0, out);
  // The file system's clock ticks in between, and the next look at the file is due.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(1024).put(2);
  EXPECT_EQ(data_error([&] { shards.read(900, out); }),
            path +
                ": was rewritten while it was in use; put a new version in its place by renaming, "
                "which leaves a run the old one");
}

TEST(TokenShards, KeepsReadingAFileThatAnotherReplaced) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.bin");
  write_token_shard(path, Ids(1000, 1));
  const TokenShards shards({path}, 50);
  write_token_shard(path, Ids(500, 2));  // by renaming
  EXPECT_EQ(all_of(shards), Ids(1000, 1));
}

TEST(TokenShards, RefusesToWriteTokensThatDoNotFit) {
  const TemporaryFolder folder;
  EXPECT_EQ(data_error([&] {
              write_token_shard(folder.path("a.bin"), Ids{1, 65536});
            }),
            folder.path("a.bin") + ": token 65536 at position 1 does not fit 16 bits");
  const std::string nowhere = folder.path("no/such/folder.bin");
  EXPECT_EQ(data_error([&] { write_token_shard(nowhere, Ids{1}); }),
            "cannot create " + nowhere + ": No such file or directory");
}

}  // namespace
}  // namespace lockstep
