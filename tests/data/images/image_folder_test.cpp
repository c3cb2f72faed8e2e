#include "data/images/image_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <numeric>

#include "core/base/metrics.h"
#include "core/base/spans.h"
#include "data/eval_loader.h"
#include "data/images/image_dataset.h"
#include "data/loader.h"
#include "data/samples/digest.h"
#include "data/samples/fetch.h"
#include "tests/data/images/image_files.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/file_contents.h"
#include "tests/fixtures/temporary_folder.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

/// Two classes; images are grey, of one pixel, which says which image it is.
class ImageFolderTest : public testing::Test {
 protected:
  ImageFolderTest() {
    add_class("cat");
    add_class("ant");
    add("cat/b.PNG", 1);
    add("cat/a.png", 2);
    add("ant/z.png", 3);
    add("ant/y.png", 4);
  }
  void add_class(const std::string& name) { std::filesystem::create_directory(folder_.path(name)); }
  void add(const std::string& name, std::uint8_t pixel) {
    folder_.write(name, encode_png({.kind = PngKind::kGrey, .samples = {pixel}}));
  }
  /// Pixels (as bytes) and labels in order.
  std::vector<std::pair<int, int>> contents(const Dataset& dataset,
                                            std::vector<std::string>* skipped = nullptr) {
    std::vector<std::pair<int, int>> out;
    for (std::int64_t i = 0; i < dataset.size(); ++i) {
      const Sample sample = dataset.draw(i, {.epoch = 0, .skipped = skipped});
      out.emplace_back(std::lround(sample.at("image").as<const float>()[0] * 255),
                       sample.at("label").as<const std::int32_t>()[0]);
    }
    return out;
  }
  std::shared_ptr<ImageDataset> open(OnBadSample on_bad_sample = OnBadSample::kError) {
    return std::make_shared<ImageDataset>(
        std::make_shared<ImageFolder>(folder_.path()),
        ImageOptions{.shape = {1, 1, 1}, .classes = 2, .on_bad_sample = on_bad_sample});
  }
  TemporaryFolder folder_;
};

TEST_F(ImageFolderTest, SortsClassesAndFiles) {
  EXPECT_EQ(contents(*open()), (std::vector<std::pair<int, int>>{{4, 0}, {3, 0}, {2, 1}, {1, 1}}));
  EXPECT_THAT(ImageFolder(folder_.path()).classes(), ElementsAre("ant", "cat"));
  EXPECT_THAT(image_files(folder_.path()),
              ElementsAre(folder_ / "ant/y.png", folder_ / "ant/z.png", folder_ / "cat/a.png",
                          folder_ / "cat/b.PNG"));
}

TEST_F(ImageFolderTest, LeavesOtherFilesOut) {
  const std::string before = open()->digest();
  folder_.write("ant/notes.txt", "x");
  folder_.write("ant/.hidden.png", "x");
  folder_.write("readme.png", "x");
  add_class(".cache");
  EXPECT_EQ(open()->size(), 4);
  EXPECT_EQ(open()->digest(), before);
  add("ant/new.png", 5);
  EXPECT_NE(open()->digest(), before);
}

// An old checkpoint has the first part, of names and sizes only.
TEST_F(ImageFolderTest, DigestsTheBytesOfImages) {
  const std::string before = open()->digest();
  const std::string image = contents_of(folder_ / "cat/a.png");
  std::string other = image;
  other.back() = static_cast<char>(other.back() ^ 1);
  folder_.write("cat/a.png", other);
  const std::string after = open()->digest();
  EXPECT_FALSE(is_same_data(before, after));
  const std::string names = before.substr(0, before.find('-'));
  EXPECT_EQ(names.size(), 64U);
  EXPECT_TRUE(is_same_data(names, after)) << "all that was known of it";
  EXPECT_FALSE(is_same_data("", after));
  EXPECT_FALSE(is_same_data(names.substr(1), after));
  folder_.write("cat/a.png", image);
  EXPECT_TRUE(is_same_data(before, open()->digest()));
}

TEST_F(ImageFolderTest, CountsWhatIsLeftOutOfClasses) {
  folder_.write("readme.txt", "x");
  folder_.write("ant/.hidden", "x");
  EXPECT_THAT(ImageFolder(folder_.path()).left_out(), ElementsAre());
  folder_.write("cat/b.gif", "x");
  folder_.write("cat/a.webp", "x");
  folder_.write("ant/notes", "x");
  add_class("cat/more");
  add_class("cat/fold.png");
  EXPECT_THAT(ImageFolder(folder_.path()).left_out(),
              ElementsAre(folder_.path() +
                              ": files in class folders, not named .png, .jpg or .jpeg, which are "
                              "left out: 3 (the first is " +
                              folder_ / "ant/notes)",
                          folder_.path() +
                              ": folders inside class folders, whose images are not read: 2 "
                              "(the first is " +
                              folder_ / "cat/fold.png)"));
  folder_.write("z.jpg", "x");
  EXPECT_EQ(ImageFolder(folder_.path()).left_out().back(),
            folder_.path() +
                ": images outside of class folders, which have no class and are left out: 1 "
                "(the first is " +
                folder_ / "z.jpg)");
}

TEST_F(ImageFolderTest, CountsClassesAsTheTrainingDataDoes) {
  const ImageFolder all(folder_.path(), {"ant", "bee", "cat"});
  EXPECT_EQ(all.label(0), 0);
  EXPECT_EQ(all.label(3), 2);
  EXPECT_EQ(data_error([&] { ImageFolder(folder_.path(), {"ant"}); }),
            folder_ / "cat: not one of the 1 classes of the data trained on");
}

TEST_F(ImageFolderTest, RefusesFoldersWithoutImages) {
  add_class("bee");
  EXPECT_EQ(data_error([&] { open(); }), folder_ / "bee: no PNG or JPEG image in it");
  EXPECT_EQ(data_error([&] { ImageFolder(folder_ / "bee"); }),
            folder_ / "bee: no class in it: images must be in one folder for each class");
  EXPECT_EQ(data_error([&] { ImageFolder(folder_ / "none"); }),
            folder_ / "none: cannot be read: No such file or directory");
  EXPECT_THAT(image_files(folder_ / "none"), ElementsAre());
}

TEST_F(ImageFolderTest, NamesTheImageThatIsBroken) {
  const std::string path = folder_.write("ant/z.png", "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(data_error([&] { fetch_sample(*open(), 1); }),
            "sample 1 (" + path + ") cannot be loaded: " + path +
                ": a damaged PNG image: the file ends too early");
}

TEST_F(ImageFolderTest, NamesLinksThatLeadNowhere) {
  namespace fs = std::filesystem;
  fs::create_symlink("loop.png", folder_.path("cat/loop.png"));
  fs::create_symlink("nowhere", folder_.path("cat/notes"));
  EXPECT_EQ(open()->size(), 5) << "the file is named when it is read";
  EXPECT_EQ(data_error([&] { fetch_sample(*open(), 4); }),
            "sample 4 (" + folder_ / "cat/loop.png) cannot be loaded: " +
                folder_ / "cat/loop.png: cannot be opened: Too many levels of symbolic links");
  EXPECT_EQ(contents(*open(OnBadSample::kSkip)).size(), 5U);
  fs::create_directory_symlink("nowhere", folder_.path("bee"));
  EXPECT_EQ(data_error([&] { open(); }),
            folder_ / "bee: cannot be followed: No such file or directory");
  fs::remove(folder_.path("bee"));
  fs::create_directory_symlink("bee", folder_.path("bee"));
  EXPECT_EQ(data_error([&] { open(); }),
            folder_ / "bee: cannot be followed: Too many levels of symbolic links");
}

TEST_F(ImageFolderTest, PrintsNamesOnOneLine) {
  add_class("c\x1b[2J");
  EXPECT_EQ(data_error([&] { open(); }), folder_ / "c\\x1b[2J: no PNG or JPEG image in it");
  add_class("ant\n");
  std::filesystem::remove(folder_.path("c\x1b[2J"));
  folder_.write("ant\n/\xff.png", "");
  EXPECT_EQ(data_error([&] {
              ImageDataset(std::make_shared<ImageFolder>(folder_.path()),
                           {.shape = {1, 1, 1}, .classes = 3})
                  .get(2);
            }),
            folder_ / "ant\\n/\\xff.png: neither a PNG nor a JPEG image: the file is empty");
  EXPECT_EQ(data_error([&] { ImageFiles({folder_ / "\r.png"}).image(0); }),
            folder_ / "\\x0d.png: cannot be opened: No such file or directory");
}

TEST_F(ImageFolderTest, TakesTheNextThatCanBeRead) {
  folder_.write("ant/z.png", "");
  folder_.write("cat/b.PNG", "no image");
  std::vector<std::string> skipped;
  EXPECT_EQ(contents(*open(OnBadSample::kSkip), &skipped),
            (std::vector<std::pair<int, int>>{{4, 0}, {2, 1}, {2, 1}, {4, 0}}));
  EXPECT_THAT(skipped,
              ElementsAre(folder_ / "ant/z.png: neither a PNG nor a JPEG image: the file is empty",
                          testing::HasSubstr("cat/b.PNG")));
  for (const char* name : {"ant/y.png", "cat/a.png"}) folder_.write(name, "");
  EXPECT_EQ(data_error([&] { contents(*open(OnBadSample::kSkip)); }),
            folder_ /
                "ant/y.png: neither a PNG nor a JPEG image: the file is empty; the 3 images "
                "after it cannot be read either: data.on_bad_sample=skip skips at most 15 in a "
                "row; remove them");
}

// What is told of does not count in an evaluation, so that nothing has to take its place.
TEST_F(ImageFolderTest, EvaluatesHoweverManyCannotBeRead) {
  for (std::int64_t i = 0; i < 2 * kMaxBadImages; ++i)
    folder_.write(fmt::format("ant/broken{}.png", 10 + i), "");
  for (const char* name : {"ant/z.png", "cat/a.png"}) folder_.write(name, "");
  const auto dataset = open(OnBadSample::kSkip);
  EvalLoader loader(dataset, {.batch_size = dataset->size()});
  const EvalBatch batch = loader.next();
  EXPECT_EQ(std::ssize(batch.skipped), dataset->size() - 2);
  const std::vector<double> mask = to_doubles(batch.batch.at("mask"));
  EXPECT_EQ(std::accumulate(mask.begin(), mask.end(), 0.0), 2);
  EXPECT_EQ(to_doubles(batch.batch.at("image"))[0], 0) << "blank";
  EXPECT_EQ(to_doubles(batch.batch.at("label")).back(), 1) << "its own";
  EXPECT_NE(data_error([&] { contents(*dataset); }), "no error");
}

TEST_F(ImageFolderTest, RefusesFilesThatAreTooLarge) {
  const std::string image = encode_png({.kind = PngKind::kGrey, .samples = {7}});
  const std::string path = folder_.write("ant/z.png", image);
  std::filesystem::resize_file(path, std::uint64_t{4} << 30);  // sparse
  const std::string problem =
      path + ": an image of 4294967296 bytes, more than data.max_file_mb: 128";
  EXPECT_EQ(data_error([&] { open()->get(1); }), problem);
  std::vector<std::string> skipped;
  EXPECT_EQ(contents(*open(OnBadSample::kSkip), &skipped),
            (std::vector<std::pair<int, int>>{{4, 0}, {2, 1}, {2, 1}, {1, 1}}));
  EXPECT_THAT(skipped, ElementsAre(problem));
  std::filesystem::resize_file(path, (1U << 20) + 1);
  const ImageLimits one{.file_bytes = 1 << 20};
  EXPECT_EQ(data_error([&] { ImageFiles({path}, one).image(0); }),
            path + ": an image of 1048577 bytes, more than data.max_file_mb: 1");
  std::filesystem::resize_file(path, 1U << 20);
  EXPECT_EQ(ImageFiles({path}, one).image(0).pixels, std::vector<std::uint8_t>{7});
}

// That the process has too many open files says nothing about the image.
TEST_F(ImageFolderTest, DoesNotSkipWhatTheMachineIsToBlameFor) {
  const auto dataset = open(OnBadSample::kSkip);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{0, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  std::vector<std::string> skipped;
  const std::string problem =
      usage_error([&] { dataset->draw(1, {.epoch = 0, .skipped = &skipped}); });
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(problem, folder_ /
                         "ant/z.png: cannot be opened: Too many open files; raise the limit "
                         "of open files (ulimit -n)");
  EXPECT_THAT(skipped, ElementsAre());
}

TEST_F(ImageFolderTest, TellsWhatABatchSkipped) {
  const std::string path = folder_.write("ant/z.png", "");
  const auto is_empty = testing::StartsWith(path);
  Loader loader(open(OnBadSample::kSkip), StepSampler(1, 4, 4, /*shuffle=*/false),
                {.micro_batches = 2, .micro_batch_size = 2, .workers = 2});
  EXPECT_THAT(loader.next().skipped, ElementsAre(is_empty)) << "not that of the steps ahead";
  EXPECT_THAT(loader.next().skipped, ElementsAre(is_empty));

  EvalLoader evaluation(open(OnBadSample::kSkip), {.batch_size = 3});
  const EvalBatch first = evaluation.next();
  EXPECT_THAT(first.skipped, ElementsAre(is_empty));
  EXPECT_EQ(to_doubles(first.batch.at("mask")), (std::vector<double>{1, 0, 1}))
      << "what took its place does not count twice";
  EXPECT_THAT(evaluation.next().skipped, ElementsAre());
}

TEST_F(ImageFolderTest, GivesTheColoursAndTheSizeThatAreAskedFor) {
  folder_.write("ant/y.png", encode_jpeg({.height = 30, .width = 20}));
  const ImageDataset dataset(std::make_shared<ImageFolder>(folder_.path()),
                             {.shape = {3, 8, 8}, .classes = 2});
  for (const std::int64_t index : {0, 1})
    EXPECT_EQ(dataset.get(index).at("image").shape(), (Shape{3, 8, 8}));
}

}  // namespace
}  // namespace lockstep
