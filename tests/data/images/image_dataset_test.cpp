#include "data/images/image_dataset.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zlib.h>

#include <cmath>
#include <numeric>

#include "data/images/cifar.h"
#include "data/images/idx.h"
#include "data/images/synthetic_images.h"
#include "data/samples/subset.h"
#include "tests/data/images/idx_file.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/temporary_folder.h"

namespace lockstep {
namespace {

/// The bytes of an IDX file of u8.
std::string idx(const std::vector<std::uint32_t>& sizes, std::size_t elements) {
  std::string out = idx_header(sizes);
  for (std::size_t i = 0; i < elements; ++i) out += static_cast<char>(i);
  return out;
}

void write_gz(const std::string& path, const std::string& bytes) {
  const gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())),
            static_cast<int>(bytes.size()));
  ASSERT_EQ(gzclose(file), Z_OK);
}

class Idx : public testing::Test {
 protected:
  std::string failure() {
    return data_error([&] { read_idx(images_, labels_); });
  }
  TemporaryFolder folder_;
  std::string images_ = folder_.write("images", idx({2, 2, 3}, 12));
  std::string labels_ = folder_.write("labels", idx({2}, 2));
};

TEST_F(Idx, ReadsPlainAndCompressedFilesAlike) {
  const LabelledImages plain = read_idx(images_, labels_);
  EXPECT_EQ(plain.shape, (Shape{1, 2, 3}));
  EXPECT_EQ(plain.labels, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(plain.pixels[11], 11);
  const std::string compressed = folder_.path("images.gz");
  write_gz(compressed, idx({2, 2, 3}, 12));
  EXPECT_EQ(read_idx(compressed, labels_).pixels, plain.pixels);
}

TEST_F(Idx, ReadsImagesWithChannels) {
  images_ = folder_.write("images", idx({2, 3, 1, 2}, 12));
  EXPECT_EQ(read_idx(images_, labels_).shape, (Shape{3, 1, 2}));
}

TEST_F(Idx, RefusesFilesThatAreNotAsLongAsTheirHeaderSays) {
  folder_.write("images", idx({2, 2, 3}, 11));
  EXPECT_EQ(failure(), images_ +
                           ": truncated: the header says 2 x 2 x 3 elements, which need 12 bytes, "
                           "but 11 follow it");
  folder_.write("images", idx({2, 2, 3}, 14));
  EXPECT_EQ(failure(), images_ +
                           ": oversized: the header says 2 x 2 x 3 elements, which need 12 bytes, "
                           "but 14 follow it");
  folder_.write("images", idx({2, 2, 3}, 0).substr(0, 9));
  EXPECT_EQ(failure(), images_ + ": truncated: the IDX header needs 16 bytes, the file has 9");
  folder_.write("images", "");
  EXPECT_EQ(failure(),
            images_ + ": truncated: an IDX header needs at least 8 bytes, the file has 0");
}

TEST_F(Idx, ALyingHeaderDoesNotExhaustMemory) {
  folder_.write("images", idx({4000000000, 60000, 3}, 12));
  EXPECT_EQ(failure(), images_ +
                           ": the header says 4000000000 x 60000 x 3 elements, more than "
                           "data.max_file_mb: 4096");
  folder_.write("images", idx({4000000000, 4000000000, 4000000000}, 12));
  EXPECT_EQ(failure(),
            images_ +
                ": the header says 4000000000 x 4000000000 x 4000000000 elements, which no "
                "file can hold");
}

TEST_F(Idx, RefusesMoreThanItIsAllowed) {
  constexpr std::int64_t kOne = 1 << 20;
  const auto refusal = [&] { return data_error([&] { read_idx(images_, labels_, kOne); }); };
  images_ = folder_.write("images", idx({1025, 32, 32}, 0));
  EXPECT_EQ(refusal(), images_ +
                           ": the header says 1025 x 32 x 32 elements, more than "
                           "data.max_file_mb: 1");
  write_gz(images_, idx({1, 32, 32}, std::size_t{3} << 20));
  EXPECT_LT(std::filesystem::file_size(images_), 100'000U);
  EXPECT_EQ(refusal(), images_ + ": inflates to more than data.max_file_mb: 1");
  std::filesystem::resize_file(images_, std::uint64_t{5} << 30);  // sparse
  EXPECT_EQ(data_error([&] { read_idx(images_, labels_); }),
            images_ + ": a file of 5368709120 bytes, more than data.max_file_mb: 4096");
}

TEST_F(Idx, RefusesForeignAndMismatchedFiles) {
  folder_.write("images", "PNG and so on");
  EXPECT_EQ(failure(),
            images_ + ": not an IDX file of bytes: it begins with 50 4e 47 instead of 00 00 08");
  folder_.write("images", idx({12}, 12));
  EXPECT_EQ(failure(), images_ + ": the IDX array has 1 dimensions, but 3 to 4 are needed");
  folder_.write("images", idx({3, 2, 2}, 12));
  EXPECT_EQ(failure(), images_ + " has 3 images, but " + labels_ + " has 2 labels");
  folder_.write("images", idx({2, 0, 3}, 0));
  EXPECT_EQ(failure(), images_ + ": no images in it: the header says 2 x 0 x 3");
  images_ = folder_.path("missing");
  EXPECT_EQ(failure(), images_ + ": cannot be opened: No such file or directory");
  images_ = folder_.path("");
  EXPECT_EQ(failure(), images_ + ": not a regular file");
}

// A pipe that nobody writes to would be waited for, a device read without end.
TEST_F(Idx, RefusesPipesAndDevices) {
  images_ = folder_.path("pipe");
  ASSERT_EQ(mkfifo(images_.c_str(), 0600), 0);
  EXPECT_EQ(failure(), images_ + ": not a regular file");
  images_ = "/dev/zero";
  EXPECT_EQ(failure(), "/dev/zero: not a regular file");
}

TEST_F(Idx, RefusesDamagedCompression) {
  const std::string path = folder_.path("images.gz");
  write_gz(path, idx({2, 2, 3}, 12));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 4);
  images_ = path;
  EXPECT_EQ(failure(), path + ": damaged gzip data: unexpected end of file");
}

/// Samples of the size of the images.
ImageDataset dataset_of(LabelledImages images, const PixelScaling& scaling, std::int64_t classes) {
  const Shape shape = images.shape;
  return {std::make_shared<ImageArray>(std::move(images)),
          {.shape = shape, .scaling = scaling, .classes = classes}};
}

TEST(ImageDataset, ScalesPixels) {
  const auto images = [] { return LabelledImages{"x", Shape{2, 1, 2}, {0, 255, 51, 102}, {3}}; };
  const auto pixels = [](const ImageDataset& dataset) {
    return to_doubles(dataset.get(0).at("image"));
  };
  const ImageDataset plain = dataset_of(images(), {}, 10);
  EXPECT_EQ(pixels(plain), (std::vector<double>{0, 1, 0.2F, 0.4F}));
  EXPECT_EQ(to_doubles(plain.get(0).at("label")), (std::vector<double>{3}));
  EXPECT_EQ(pixels(dataset_of(images(), {{0.5}, {0.5}}, 10)),
            (std::vector<double>{-1, 1, -0.6F, -0.2F}));
  EXPECT_EQ(pixels(dataset_of(images(), {{0, 0.2}, {1, 0.5}}, 10)),
            (std::vector<double>{0, 1, 0, 0.4F}));
  EXPECT_EQ(plain.digest(), dataset_of(images(), {{0.5}, {0.5}}, 10).digest());
}

TEST(ImageDataset, RefusesImpossibleScalingAndLabels) {
  const auto make = [](const PixelScaling& scaling, std::int64_t classes) {
    dataset_of({"x", Shape{3, 1, 1}, {0, 1, 2}, {7}}, scaling, classes);
  };
  EXPECT_EQ(usage_error([&] {
              make({{1, 2}, {}}, 10);
            }),
            "2 values of mean for images of 3 channels");
  EXPECT_EQ(usage_error([&] {
              make({{}, {0}}, 10);
            }),
            "a standard deviation must be positive, not 0");
  EXPECT_EQ(data_error([&] { make({}, 7); }),
            "x: label 7 of image 0 is not below 7, the number of classes");
}

TEST(ImageDataset, ReadsThousandsOfCompressedDigits) {
  const TemporaryFolder folder;
  const std::uint32_t count = 3000;  // the compressed file passes any read-ahead buffer
  std::string pixels = idx({count, 28, 28}, 0), labels = idx({count}, 0);
  const auto pixel = [](std::int64_t image, std::int64_t i) {
    return static_cast<std::uint8_t>(
        static_cast<std::uint64_t>(image * 784 + i) * 0x9E3779B97F4A7C15U >> 56);
  };
  const auto label = [](std::int64_t image) { return static_cast<char>(image * 7 % 10); };
  for (std::int64_t image = 0; image < count; ++image) {
    for (std::int64_t i = 0; i < 784; ++i) pixels += static_cast<char>(pixel(image, i));
    labels += label(image);
  }
  write_gz(folder.path("images.gz"), pixels);
  write_gz(folder.path("labels.gz"), labels);
  const auto all = std::make_shared<ImageDataset>(
      dataset_of(read_idx(folder.path("images.gz"), folder.path("labels.gz")), {}, 10));
  EXPECT_EQ(all->size(), count);
  EXPECT_EQ(all->fields()[0].shape, (Shape{1, 28, 28}));
  for (const std::int64_t image : {0, 1, 1777, 2999}) {
    const Sample sample = all->get(image);
    EXPECT_EQ(sample.at("label").as<std::int32_t>()[0], label(image));
    const auto found = sample.at("image").as<float>();
    for (const std::int64_t i : {0, 400, 783}) {
      EXPECT_FLOAT_EQ(found[static_cast<std::size_t>(i)],
                      static_cast<float>(pixel(image, i)) / 255);
    }
  }
  const SubsetDataset validation(all, 2400, 3000);
  EXPECT_EQ(validation.size(), 600);
  EXPECT_EQ(to_doubles(validation.get(5).at("image")), to_doubles(all->get(2405).at("image")));
}

TEST(Cifar, ReadsRecordsOfBothKinds) {
  const TemporaryFolder folder;
  const std::string pixels(3072, '\x10');
  const std::string ten = folder.write("a.bin", "\x05" + pixels + "\x06" + pixels);
  EXPECT_EQ(read_cifar({ten, ten}, CifarKind::kCifar10).labels,
            (std::vector<std::int32_t>{5, 6, 5, 6}));
  const std::string hundred = folder.write("b.bin", "\x01\x2a" + pixels);
  const LabelledImages fine = read_cifar({hundred}, CifarKind::kCifar100);
  EXPECT_EQ(fine.labels, (std::vector<std::int32_t>{42}));
  EXPECT_EQ(fine.shape, (Shape{3, 32, 32}));
  EXPECT_EQ(fine.pixels, std::vector<std::uint8_t>(3072, 0x10));
  EXPECT_EQ(data_error([&] { read_cifar({hundred}, CifarKind::kCifar10); }),
            hundred +
                ": CIFAR records have 3073 bytes each, but the file has 3074 bytes: 1 records "
                "and 1 bytes more; records of 3074 bytes, CIFAR-100's, would fit");
}

TEST(SyntheticImages, AreAFunctionOfSeedAndIndex) {
  const SyntheticImages images(100, Shape{1, 4, 4}, 10, 3);
  const Sample sample = images.get(17);
  EXPECT_EQ(to_doubles(sample.at("image")), to_doubles(images.get(17).at("image")));
  EXPECT_NE(to_doubles(sample.at("image")), to_doubles(images.get(18).at("image")));
  const SyntheticImages other(100, Shape{1, 4, 4}, 10, 4);
  EXPECT_NE(to_doubles(sample.at("image")), to_doubles(other.get(17).at("image")));
  EXPECT_NE(images.digest(), other.digest());
  for (const double pixel : to_doubles(sample.at("image"))) {
    EXPECT_GE(pixel, 0);
    EXPECT_LT(pixel, 1);
  }
}

TEST(SyntheticImages, OfOtherSeedsMayShareTheirClasses) {
  const SyntheticImages images(100, Shape{1, 64, 64}, 10, 3);
  const SyntheticImages others = images.others(50, 4);
  EXPECT_EQ(others.size(), 50);
  EXPECT_NE(others.digest(), images.digest());
  EXPECT_NE(others.digest(), SyntheticImages(50, Shape{1, 64, 64}, 10, 4).digest());
  const auto label = [](const Sample& sample) {
    return sample.at("label").as<const std::int32_t>()[0];
  };
  const auto mean_square = [](const Sample& a, const Sample& b) {
    const std::vector<double> x = to_doubles(a.at("image"));
    const std::vector<double> y = to_doubles(b.at("image"));
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
    return sum / static_cast<double>(x.size());
  };
  // Each number has a variance of 1/48. Images of one class differ by two of noise, others by two
  // of patterns more; a mean of 4096 squares strays by less than 0.002.
  const Sample one = images.get(0);
  for (std::int64_t i = 0; i < others.size(); ++i) {
    const Sample other = others.get(i);
    EXPECT_EQ(mean_square(one, other) < 3.0 / 48, label(one) == label(other)) << i;
  }
}

// A pattern is half of what varies in an image, and so half of what two images of a class share;
// images of two classes share nothing, though the patterns of many large ones overlap.
TEST(SyntheticImages, OfManyLargeClassesAreAlikeWithinAClassOnly) {
  const SyntheticImages images(1500, Shape{3, 96, 96}, 500, 3);
  const auto centered = [&](std::int64_t i) {
    std::vector<double> out = to_doubles(images.get(i).at("image"));
    for (double& pixel : out) pixel -= 0.5;
    return out;
  };
  const auto label = [&](std::int64_t i) {
    return images.get(i).at("label").as<const std::int32_t>()[0];
  };
  const auto correlation = [](const std::vector<double>& a, const std::vector<double>& b) {
    const double ab = std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
    const double aa = std::inner_product(a.begin(), a.end(), a.begin(), 0.0);
    const double bb = std::inner_product(b.begin(), b.end(), b.begin(), 0.0);
    return ab / std::sqrt(aa * bb);
  };
  const std::vector<double> first = centered(0);
  int alike = 0;
  // 27,648 pixels: the correlation of independent ones is below 0.03 but once in a million times.
  for (std::int64_t i = 1; i < images.size(); ++i) {
    const bool same = label(i) == label(0);
    EXPECT_NEAR(correlation(first, centered(i)), same ? 0.5 : 0, 0.03) << i;
    alike += same ? 1 : 0;
  }
  EXPECT_GT(alike, 0);
}

}  // namespace
}  // namespace lockstep
