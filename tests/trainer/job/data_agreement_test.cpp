// Ranks with different files are refused; what was compared is said; hashes are kept.
#include "trainer/job/data_agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "core/base/error.h"
#include "data/tokens/synthetic_tokens.h"
#include "data/tokens/token_dataset.h"
#include "tests/fixtures/file_contents.h"
#include "tests/fixtures/temporary_folder.h"
#include "tests/ranks/on_ranks.h"
#include "trainer/datasets/image_folder_data.h"
#include "trainer/datasets/token_files.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using testing::ContainsRegex;
using testing::Each;
using testing::HasSubstr;

class DataAgreement : public testing::Test {
 protected:
  /// The config of a rank whose text is this.
  Config with_text(const std::string& name, const std::string& text) const {
    return with_path(folder_.write(name, text));
  }

  static Config with_path(const std::string& path) {
    Config config;
    config.model.name = "gpt2";
    config.data = {.type = "text", .keys = OwnConfig(TextData{.path = {path}})};
    return config;
  }

  /// What each rank gets to hear.
  std::vector<std::string> answers(const std::vector<Config>& configs,
                                   const DataAgreementOptions& options = {}) {
    const auto body = [&](Communicator& communicator) {
      const std::string log_file = folder_.path("log" + std::to_string(communicator.rank()));
      Log log({.console = false, .file = log_file, .debug = 0});
      const Config& config = configs[static_cast<std::size_t>(communicator.rank())];
      whole_ = agree_on_files(communicator, config, built_in(), options, log);
    };
    auto out = errors_on_ranks(static_cast<int>(configs.size()), ErrorKind::kData, body);
    EXPECT_THAT(out, Each(out[0])) << "all ranks end alike";
    return out;
  }

  /// The config of a rank whose folder has these images, each of these bytes.
  Config with_images(const std::string& folder, const std::vector<std::string>& names,
                     const std::string& bytes = "x") const {
    for (const std::string& name : names) {
      fs::create_directories(fs::path(folder_.path(folder + "/" + name)).parent_path());
      folder_.write(folder + "/" + name, bytes);
    }
    Config config;
    config.model.name = "lenet";
    config.data = {.type = "image_folder",
                   .keys = OwnConfig(ImageFolderData{.path = folder_.path(folder)})};
    return config;
  }

  std::string log_of_rank_0() const { return contents_of(folder_.path("log0")); }

  TemporaryFolder folder_;
  std::atomic<bool> whole_{false};
};

const std::string kText(100'000, 'a');

TEST_F(DataAgreement, OfCopiesSaysHowMuchWasCompared) {
  EXPECT_THAT(answers({with_text("a", kText), with_text("b", kText)}), Each("no error"));
  EXPECT_TRUE(whole_);
  EXPECT_THAT(log_of_rank_0(), ContainsRegex("data: 100 % of 97.* compared between 2 ranks"));
}

TEST_F(DataAgreement, FindsTheFirstByteThatDiffersOnAnyRank) {
  std::string other = kText;
  other[77'777] = 'b';
  other[99'999] = 'b';
  const std::string message =
      answers({with_text("a", kText), with_text("b", kText), with_text("c", other)})[0];
  EXPECT_THAT(message, HasSubstr("data.path differs first in byte 77777"));
  EXPECT_THAT(message, HasSubstr(folder_.path("c") + ", on rank 2"));
  EXPECT_THAT(message, HasSubstr(folder_.path("a") + ", on ranks 0 1"));
}

TEST_F(DataAgreement, SaysUpToWhereAShorterFileIsEqual) {
  EXPECT_THAT(answers({with_text("a", kText), with_text("b", kText.substr(0, 99'000))})[0],
              HasSubstr("data.path: the first 99000 bytes are equal"));
}

TEST_F(DataAgreement, NamesTheRankThatCannotReadAFile) {
  const Config missing = with_path(folder_.path("none"));
  EXPECT_THAT(answers({with_text("a", kText), missing})[0],
              HasSubstr("cannot be read, No such file or directory, " + folder_.path("none") +
                        ", on rank 1"));
}

TEST_F(DataAgreement, OfWhatNoRankCanReadIsLeftToTheReader) {
  const Config missing = with_path(folder_.path("none"));
  EXPECT_THAT(answers({missing, missing}), Each("no error"));
}

// The same bytes in the same order, but one image is of another class.
TEST_F(DataAgreement, ComparesWhatFilesOfAFolderAreCalled) {
  const Config first = with_images("a", {"cat/1.png", "cat/2.png", "dog/3.png"});
  EXPECT_THAT(answers({first, with_images("b", {"cat/1.png", "cat/2.png", "dog/3.png"})}),
              Each("no error"));
  EXPECT_THAT(answers({first, with_images("c", {"cat/1.png", "dog/2.png", "dog/3.png"})})[0],
              HasSubstr("data.path/cat/2.png"));
}

TEST_F(DataAgreement, ComparesNamesAndSizesOfManyFiles) {
  const DataAgreementOptions options{.limits = {.whole_files = 500}};
  std::vector<std::string> names;
  for (int i = 0; i < 600; ++i) names.push_back(fmt::format("cat/{:03}.png", i));
  const Config first = with_images("a", names), second = with_images("b", names);
  EXPECT_THAT(answers({first, second}, options), Each("no error"));
  EXPECT_FALSE(whole_);
  EXPECT_THAT(log_of_rank_0(),
              HasSubstr("data: 50 % of 600.00B and the names and sizes of 600 files "
                        "compared between 2 ranks"));
  folder_.write("b/cat/001.png", "y");  // between those that are looked at
  EXPECT_THAT(answers({first, second}, options), Each("no error"));
  folder_.write("b/cat/001.png", "xy");
  EXPECT_THAT(answers({first, second}, options)[0], HasSubstr("data.path/cat/001.png: 1 bytes"));
  folder_.write("b/cat/001.png", "x");
  folder_.write("b/cat/004.png", "y");
  EXPECT_THAT(answers({first, second}, options)[0],
              HasSubstr("data.path/cat/004.png differs first in byte 0"));
}

TEST_F(DataAgreement, ComparesSizesAndProbesOfLargeFiles) {
  const DataAgreementOptions options{.limits = {.whole_bytes = 1000}};
  const std::string large(8 << 20, 'a');
  std::string blind = large;
  blind[50'000] = 'b';  // between the probes, which are 32 KiB apart
  EXPECT_THAT(answers({with_text("a", large), with_text("b", blind)}, options), Each("no error"));
  EXPECT_FALSE(whole_);
  EXPECT_THAT(log_of_rank_0(), ContainsRegex("data: 12.5 % of 8.* compared between 2 ranks"));
  std::string seen = large;
  seen.back() = 'b';
  EXPECT_THAT(answers({with_text("a", large), with_text("b", seen)}, options)[0],
              HasSubstr("data.path differs first in byte 8388607"));
}

TEST(DataWithoutFiles, IsComparedByProbes) {
  const auto answer = [](std::uint64_t seed_of_rank_1) {
    const auto out = errors_on_ranks(2, ErrorKind::kData, [&](Communicator& communicator) {
      const std::uint64_t seed = communicator.rank() == 1 ? seed_of_rank_1 : 1;
      DataSource data;
      data.train =
          std::make_shared<TokenDataset>(std::make_shared<SyntheticTokens>(100'000, 50, seed), 8);
      agree_on_datasets(communicator, data);
    });
    EXPECT_EQ(out[0], out[1]);
    return out[0];
  };
  EXPECT_EQ(answer(1), "no error");
  EXPECT_THAT(answer(2), HasSubstr("the ranks were given different data:\n"
                                   "  256 of the training samples: hash "));
}

TEST_F(DataAgreement, KeepsHashesOfFilesThatHaveRested) {
  const DataAgreementOptions options{.cache_folder = folder_.path("cache")};
  const auto kept = [&] {
    std::size_t out = 0;
    if (fs::exists(options.cache_folder))
      for (const auto& entry : fs::directory_iterator(options.cache_folder))
        out += entry.path().extension() == ".artifact" ? 1 : 0;
    return out;
  };
  const Config a = with_text("a", kText);
  EXPECT_THAT(answers({a, a}, options), Each("no error"));
  EXPECT_EQ(kept(), 0U) << "the file is younger than 2 s";
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  EXPECT_THAT(answers({a, a}, options), Each("no error"));
  EXPECT_EQ(kept(), 1U);
  std::string other = kText;
  other[0] = 'b';
  EXPECT_THAT(answers({a, with_text("b", other)}, options)[0], HasSubstr("in byte 0"));
  with_text("a", other);
  EXPECT_THAT(answers({a, with_text("b", kText)}, options)[0], HasSubstr("in byte 0"))
      << "a changed file is another file";
}

}  // namespace
}  // namespace lockstep
