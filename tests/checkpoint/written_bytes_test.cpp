// A lost write is found before the file is sealed.
#include "checkpoint/written_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "checkpoint/header_block.h"
#include "checkpoint/verify.h"
#include "tests/checkpoint/sample_state.h"

namespace lockstep {
namespace {

std::vector<std::byte> some_bytes(std::size_t size, int seed) {
  std::vector<std::byte> out(size);
  for (std::size_t i = 0; i < size; ++i) {
    out[i] = static_cast<std::byte>(1 + (i * 31 + static_cast<std::size_t>(seed)) % 251);
  }
  return out;
}

TEST(WrittenBytes, LaterBytesReplaceEarlierOnes) {
  WrittenBytes written;
  written.record(4000, some_bytes(200, 0));
  written.record(4090, some_bytes(10, 7));
  std::vector<std::byte> expected = some_bytes(200, 0);
  const std::vector<std::byte> later = some_bytes(10, 7);
  std::copy(later.begin(), later.end(), expected.begin() + 90);
  std::vector<std::byte> copied(200);
  written.copy(4000, copied);
  EXPECT_EQ(copied, expected);
  EXPECT_TRUE(written.matches(4000, expected));
  EXPECT_FALSE(written.matches(4000, some_bytes(200, 0)));
  EXPECT_EQ(written.end(), 4200U);
}

TEST(WrittenBytes, NothingIsKnownOfOtherPlaces) {
  WrittenBytes written;
  written.record(5000, some_bytes(8, 0));
  EXPECT_TRUE(written.matches(0, some_bytes(5000, 3)));
  EXPECT_TRUE(written.matches(5008, some_bytes(9000, 3)));
  std::vector<std::byte> before(8);
  written.copy(4992, before);
  EXPECT_EQ(before, std::vector<std::byte>(8));
}

// A file of structure, a large tensor over several reads, and structure again.
class Seal : public ::testing::Test {
 protected:
  static constexpr std::size_t kTensor = 3'000'001;

  Seal() : file_(PosixFile::create(folder_ / "file", ErrorKind::kCheckpoint)) {
    write(kHeaderBytes, structure_);
    file_.write(kHeaderBytes + structure_.size(), tensor_);
    write(kHeaderBytes + structure_.size() + kTensor, structure_);
  }

  void write(std::uint64_t offset, std::span<const std::byte> bytes) {
    written_.record(offset, bytes);
    file_.write(offset, bytes);
  }

  void seal_it() { seal(file_, written_, {{kHeaderBytes + structure_.size(), tensor_}}); }

  TemporaryFolder folder_;
  PosixFile file_;
  WrittenBytes written_;
  std::vector<std::byte> structure_ = some_bytes(999, 1);
  std::vector<std::byte> tensor_ = some_bytes(kTensor, 2);
};

TEST_F(Seal, SealsWhatReadsBack) {
  seal_it();
  EXPECT_EQ(verify(file_).problem, "");
}

TEST_F(Seal, RefusesAnyByteThatIsAnother) {
  rc::check("a changed byte is found", [&] {
    const auto at = kHeaderBytes + *rc::gen::inRange<std::size_t>(0, 2 * 999 + kTensor);
    std::byte kept{};
    file_.read(at, {&kept, 1});
    const std::byte zero{};
    file_.write(at, {&zero, 1});
    try {
      seal_it();
      RC_FAIL("a changed byte was sealed");
    } catch (const Error& error) {
      RC_ASSERT(error.kind() == ErrorKind::kCheckpoint);
      RC_ASSERT(std::string(error.what()).find("does not read back") != std::string::npos);
    }
    RC_ASSERT(!verify(file_).ok());
    file_.write(at, {&kept, 1});
  });
}

TEST_F(Seal, RefusesAFileThatIsTooShort) {
  file_.resize(file_.size() - 1);
  EXPECT_THROW(seal_it(), Error);
  file_.resize(2000);
  EXPECT_THROW(seal_it(), Error);
}

}  // namespace
}  // namespace lockstep
