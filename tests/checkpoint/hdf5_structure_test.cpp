// Files with a valid seal and hostile contents: each is read unchanged or refused with its name.
#include "checkpoint/hdf5_structure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "checkpoint/commands.h"
#include "checkpoint/commit.h"
#include "checkpoint/header_block.h"
#include "checkpoint/restore.h"
#include "checkpoint/trainer_attributes.h"
#include "core/base/hash.h"
#include "tests/checkpoint/sample_state.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/file_contents.h"

namespace lockstep {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing::sample_state;
using testing::write_bytes;

// The contents of a good checkpoint, to be changed and sealed anew.
class Hostile : public ::testing::Test {
 protected:
  Hostile() {
    path_ = save_checkpoint(folder_.path(), sample_state(), Log::null()).path;
    good_ = contents_of(path_).substr(kHeaderBytes);
  }

  void seal(const std::string& contents) {
    HeaderBlock header;
    header.file_bytes = kHeaderBytes + contents.size();
    Sha256 sha;
    sha.update(contents.data(), contents.size());
    header.digest = sha.finish();
    const auto block = encode_header(header);
    write_bytes(path_,
                std::string(reinterpret_cast<const char*>(block.data()), block.size()) + contents);
  }

  std::string load_error(const std::string& contents) {
    seal(contents);
    std::string out = error_of(ErrorKind::kCheckpoint, [&] { load(path_); });
    EXPECT_THAT(out, AnyOf("no error", HasSubstr(path_)));
    return out;
  }

  // Replaces the first `from` at or after the first `behind`.
  std::string with(const std::string& behind, const std::string& from, const std::string& to) {
    std::string out = good_;
    const std::size_t at = out.find(from, out.find(behind));
    EXPECT_NE(at, std::string::npos);
    out.replace(at, from.size(), to);
    return out;
  }

  TemporaryFolder folder_;
  std::string path_;
  std::string good_;
};

const std::string kScalarMessage("\1\0\10\0\0\0\0\0\1\0\0\0\0\0\0\0", 16);

TEST_F(Hostile, TheGoodFileLoads) {
  EXPECT_EQ(load_error(good_), "no error");
}

TEST_F(Hostile, AConfigThatIsAnArray) {
  const std::string array("\1\0\10\0\0\0\0\0\1\1\1\0\0\0\0\0", 16);
  EXPECT_THAT(load_error(with("", kScalarMessage, array)),
              HasSubstr(": not as lockstep writes it: /config: "));
}

TEST_F(Hostile, ATensorWithAnotherLayout) {
  const std::string contiguous("\10\0\30\0\0\0\0\0\3\1", 10);
  for (const char kind : {0, 2, 3}) {  // compact, chunked, virtual
    std::string other = contiguous;
    other.back() = kind;
    EXPECT_THAT(load_error(with("", contiguous, other)),
                HasSubstr("its storage layout (contiguous) is not as expected"));
  }
}

TEST_F(Hostile, ATensorInExternalFiles) {
  const std::string unused("\0\0\220\0", 4);  // the unused room of an object header
  const std::string external("\7\0\220\0", 4);
  EXPECT_THAT(load_error(with("", unused, external)),
              HasSubstr("its header has a message of kind 7"));
}

TEST_F(Hostile, AMemberThatIsALink) {
  std::string contents = good_;
  const std::size_t leaf = contents.find("SNOD");
  contents[leaf + 8 + 16] = 2;
  EXPECT_THAT(load_error(contents), HasSubstr("/: config is a link and not an object"));
}

TEST_F(Hostile, AGroupThatHoldsItself) {
  std::string contents = good_;
  const std::size_t leaf = contents.find("SNOD");
  contents[leaf + 8 + 8] = 96;  // where the root's header lies
  contents[leaf + 8 + 9] = 0;
  EXPECT_THAT(load_error(contents), HasSubstr("/config: 16 bytes at 96 belong to another object"));
}

TEST_F(Hostile, ANegativeStep) {
  std::string contents = good_;
  const std::size_t step = contents.find(std::string("step\0\0\0\0\20\10", 10));
  ASSERT_NE(step, std::string::npos);
  contents.replace(step + 32, 8, std::string(8, '\xff'));
  EXPECT_EQ(load_error(contents),
            path_ + ": the attribute step of /trainer is -1, which is below 0");
}

TEST_F(Hostile, ATokenizerOfFloats) {
  const HostTensor floats(DType::kF32, {5});
  EXPECT_EQ(error_of(ErrorKind::kCheckpoint, [&] { text_of(floats, kTokenizer, path_); }),
            path_ + ": /trainer/tokenizer is f32[5], not u8 of one dimension");
}

TEST_F(Hostile, VerifyAndLsSayWhatIsWrong) {
  std::string contents = good_;
  contents.replace(contents.find("config"), 6, "kinfig");
  seal(contents);
  const std::string problem = "not as lockstep writes it: /config is missing\n";
  EXPECT_EQ(checkpoint_verify(path_).text, path_ + ": " + problem);
  EXPECT_EQ(checkpoint_verify(path_).status, 4);
  EXPECT_THAT(checkpoint_ls(folder_.path()).text, HasSubstr("  " + problem));
}

TEST_F(Hostile, AConfigOfAnotherName) {
  std::string contents = good_;
  contents.replace(contents.find("config"), 6, "kinfig");
  EXPECT_EQ(load_error(contents), path_ + ": not as lockstep writes it: /config is missing");
}

TEST_F(Hostile, ASecondConfig) {
  std::string contents = good_;
  contents.replace(contents.find("trainer"), 6, "config");
  contents[contents.find("configr") + 6] = '\0';
  EXPECT_THAT(load_error(contents), HasSubstr("/config: two objects have this name"));
}

TEST_F(Hostile, AnyBytesUnderAValidSeal) {
  rc::check("garbage loads or is refused", [&] {
    std::string contents = good_;
    const int places = *rc::gen::inRange(1, 4);
    for (int i = 0; i < places; ++i) {
      // Most of the file is structure, but for the tokenizer's text.
      const auto at = *rc::gen::inRange<std::size_t>(0, contents.size() - 16);
      const auto garbage =
          *rc::gen::resize(16, rc::gen::container<std::string>(rc::gen::arbitrary<char>()));
      contents.replace(at, garbage.size(), garbage);
    }
    load_error(contents);
    RC_ASSERT(!::testing::Test::HasFailure());
  });
}

TEST_F(Hostile, AnyAddressInPlaceOfAnother) {
  rc::check("an address that is another is refused or reads the same place", [&] {
    std::string contents = good_;
    const auto at = *rc::gen::inRange<std::size_t>(0, 8000);
    const auto value = *rc::gen::oneOf(
        rc::gen::inRange<std::uint64_t>(0, contents.size() + 64),
        rc::gen::element<std::uint64_t>(~0ULL, ~0ULL - 15, 1ULL << 63, 1ULL << 40, 0ULL));
    std::memcpy(contents.data() + at, &value, sizeof value);
    load_error(contents);
    RC_ASSERT(!::testing::Test::HasFailure());
  });
}

TEST_F(Hostile, AnyShorterFile) {
  rc::check("a shorter file is refused", [&] {
    const auto size = *rc::gen::inRange<std::size_t>(0, good_.size());
    RC_ASSERT(load_error(good_.substr(0, size)) != "no error");
  });
}

}  // namespace
}  // namespace lockstep
