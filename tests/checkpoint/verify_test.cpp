// Every kind of damage is found, named, and never reaches HDF5.
#include "checkpoint/verify.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/stat.h>

#include "checkpoint/commit.h"
#include "checkpoint/header_block.h"
#include "checkpoint/restore.h"
#include "checkpoint/tensors_file.h"
#include "core/base/hash.h"
#include "tests/checkpoint/sample_state.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/file_contents.h"

namespace lockstep {
namespace {

using testing::sample_state;
using testing::write_bytes;

std::string load_error(const std::string& path) {
  return error_of(ErrorKind::kCheckpoint, [&] { load(path); });
}

class Damage : public ::testing::Test {
 protected:
  Damage() {
    path_ = save_checkpoint(folder_.path(), sample_state(), Log::null()).path;
    good_ = contents_of(path_);
  }

  // Both ways to look at the file find `problem`.
  void expect_problem(const std::string& bytes, const std::string& problem) {
    write_bytes(path_, bytes);
    EXPECT_EQ(verify(path_).problem, problem);
    EXPECT_EQ(load_error(path_), path_ + ": " + problem);
  }

  static std::string with_header(std::string bytes, std::size_t at, char value) {
    bytes[at] = value;
    Sha256 sha;
    sha.update(bytes.data(), 64);
    const auto checksum = sha.finish();
    std::memcpy(bytes.data() + 64, checksum.data(), checksum.size());
    return bytes;
  }

  TemporaryFolder folder_;
  std::string path_;
  std::string good_;
};

TEST_F(Damage, NoneIsFoundInAGoodFile) {
  EXPECT_EQ(verify(path_).problem, "");
  EXPECT_EQ(verify_header(path_).problem, "");
}

TEST_F(Damage, AnEmptyFile) {
  expect_problem("", "the file is empty");
}

TEST_F(Damage, AForeignHdf5File) {
  const std::string other = folder_ / "other.h5";
  write_tensors_file(other, {{"x", HostTensor::scalar<float>(1)}});
  expect_problem(contents_of(other),
                 "an HDF5 file, but not a lockstep checkpoint: it has no lockstep header");
}

TEST_F(Damage, AForeignFile) {
  const std::string problem =
      "not a lockstep checkpoint: the file does not begin with the lockstep magic bytes";
  expect_problem("x", problem);
  expect_problem(std::string(100'000, '\0'), problem);
}

TEST_F(Damage, ACheckpointWhoseLineEndsWereChanged) {
  std::string bytes = good_;
  bytes.erase(bytes.find('\r'), 1);
  expect_problem(
      bytes, "not a lockstep checkpoint: the file does not begin with the lockstep magic bytes");
}

TEST_F(Damage, TruncationInTheHeader) {
  expect_problem(good_.substr(0, 100), "truncated: 100 bytes are less than the header's 512");
}

TEST_F(Damage, TruncationInTheData) {
  expect_problem(good_.substr(0, 5000), fmt::format("truncated: 5000 of {} bytes", good_.size()));
  EXPECT_FALSE(verify_header(path_).ok());
}

TEST_F(Damage, BytesAfterTheEnd) {
  expect_problem(good_ + "more",
                 fmt::format("4 bytes follow the {} that were written", good_.size()));
}

TEST_F(Damage, AFlippedBitInTheHeader) {
  std::string bytes = good_;
  bytes[40] ^= 1;
  expect_problem(bytes, "the header is damaged: its checksum does not match");
}

TEST_F(Damage, AFlippedBitInThePadding) {
  std::string bytes = good_;
  bytes[300] ^= 1;
  expect_problem(bytes, "the header is damaged: byte 300 of its padding is not zero");
}

TEST_F(Damage, AFlippedBitInTheData) {
  std::string bytes = good_;
  bytes[5000] ^= 1;
  const auto digest = [](const std::string& file) {
    Sha256 sha;
    sha.update(file.data() + 512, file.size() - 512);
    const auto sum = sha.finish();
    return to_hex(sum.data(), 8);
  };
  expect_problem(
      bytes, fmt::format("the contents are damaged: their SHA-256 is {}..., the header says {}...",
                         digest(bytes), digest(good_)));
  EXPECT_TRUE(verify_header(path_).ok());
}

TEST_F(Damage, AFormatOfTheFuture) {
  expect_problem(with_header(good_, 16, 9),
                 "the file has format version 9; this lockstep reads version 1");
}

TEST_F(Damage, APathThatIsNoFile) {
  EXPECT_EQ(verify(folder_ / "nothing").problem, "No such file or directory");
  EXPECT_EQ(verify(folder_.path()).problem, "a folder, not a file");
  ::mkfifo((folder_ / "pipe").c_str(), 0600);
  EXPECT_EQ(verify(folder_ / "pipe").problem, "not a regular file");
  EXPECT_EQ(load_error(folder_ / "nothing"), folder_ / "nothing" + ": No such file or directory");
}

TEST_F(Damage, EveryBitOfTheHeaderCounts) {
  for (std::size_t bit = 0; bit < kHeaderBytes * 8; ++bit) {
    std::string bytes = good_;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    const auto* start = reinterpret_cast<const std::byte*>(bytes.data());
    ASSERT_NE(decode_header({start, kHeaderBytes}).problem, "") << "bit " << bit;
  }
}

TEST_F(Damage, AnyBitOfTheFileCounts) {
  rc::check("one flipped bit is found", [&] {
    const auto at = *rc::gen::inRange<std::size_t>(0, good_.size());
    const auto bit = *rc::gen::inRange(0, 8);
    std::string bytes = good_;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
    write_bytes(path_, bytes);
    RC_ASSERT(!verify(path_).ok());
    RC_ASSERT(load_error(path_).starts_with(path_ + ": "));
  });
}

TEST_F(Damage, AnyTruncationCounts) {
  rc::check("a shorter file is found", [&] {
    write_bytes(path_, good_.substr(0, *rc::gen::inRange<std::size_t>(0, good_.size())));
    RC_ASSERT(!verify(path_).ok());
    RC_ASSERT(!verify_header(path_).ok());
    RC_ASSERT(load_error(path_).starts_with(path_ + ": "));
  });
}

TEST_F(Damage, AnyOverwrittenStretchCounts) {
  rc::check("garbage in the middle is found", [&] {
    std::string bytes = good_;
    const auto at = *rc::gen::inRange<std::size_t>(0, good_.size() - 64);
    const auto garbage = *rc::gen::container<std::string>(64, rc::gen::arbitrary<char>());
    bytes.replace(at, garbage.size(), garbage);
    RC_PRE(bytes != good_);
    write_bytes(path_, bytes);
    RC_ASSERT(!verify(path_).ok());
    RC_ASSERT(load_error(path_).starts_with(path_ + ": "));
  });
}

}  // namespace
}  // namespace lockstep
