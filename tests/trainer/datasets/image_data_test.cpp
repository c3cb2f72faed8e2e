// Datasets of images as opened by the registry's rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "checkpoint/tensors_file.h"
#include "tests/checkpoint/hdf5_samples.h"
#include "tests/data/images/idx_file.h"
#include "tests/data/images/image_files.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/temporary_folder.h"
#include "trainer/datasets/cifar_data.h"
#include "trainer/datasets/hdf5_data.h"
#include "trainer/datasets/idx_data.h"
#include "trainer/datasets/image_folder_data.h"

namespace lockstep {
namespace {

using Bytes = std::vector<std::uint8_t>;

OpenContext images_of(std::array<std::int64_t, 3> image, std::int64_t classes = 10) {
  return {.needs = {.inputs = "images", .n_classes = classes, .image = image}};
}

TEST(ImageFolderRow, GivesWhatTheModelTakes) {
  const TemporaryFolder folder;
  for (const char* name : {"train", "train/a", "train/b", "val", "val/b"})
    std::filesystem::create_directory(folder / name);
  folder.write("train/a/1.jpg", encode_jpeg({.height = 30, .width = 40}));
  folder.write("train/b/1.png", encode_png({.height = 12, .width = 9, .kind = PngKind::kGrey}));
  folder.write("val/b/2.png", encode_png({.height = 12, .width = 9}));
  ImageFolderData data{.path = folder / "train", .val_path = folder / "val"};
  const DataSource out = data.open(images_of({3, 16, 24}));
  EXPECT_EQ(out.train->size(), 2);
  EXPECT_EQ(out.train->get(1).at("image").shape(), (Shape{3, 16, 24}));
  EXPECT_EQ(out.validation->get(0).at("label").as<const std::int32_t>()[0], 1)
      << "labels are those of the classes trained on";

  data.images.image_size = {8};
  EXPECT_EQ(data.open(images_of({1, 1, 64})).train->get(0).at("image").shape(), (Shape{1, 8, 8}));
  data.images.image_size = {};
  EXPECT_EQ(usage_error([&] {
              data.open(images_of({1, 1, 64}));
            }),
            "data.image_size must be given: the model does not define a height and a width");
  EXPECT_EQ(usage_error([&] {
              data.open(images_of({3, 16, 16}, 1));
            }),
            folder / "train has 2 folders of classes, but the model is for 1 classes");
}

TEST(ImageFolderRow, RefusesWhatDoesNotFitTheModel) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "a");
  folder.write("a/1.png", encode_png({.height = 4, .width = 4}));
  const auto refusal = [&](std::int64_t channels, const ImageSettings& images) {
    return usage_error([&] {
      ImageFolderData{.path = folder.path(), .images = images}.open(images_of({channels, 16, 16}));
    });
  };
  EXPECT_EQ(refusal(4, {}),
            "the model has 4 channels, but a PNG or JPEG file has 1 (grey) or 3 (colour)");
  EXPECT_EQ(refusal(3, {.augmentation = {.resize = 10}}),
            "'data.resize: 10' leaves images smaller than the 16 x 16 that samples have");
  EXPECT_EQ(refusal(3, {.normalize_mean = {0.5, 0.5}}),
            "'data.normalize_mean' has 2 values, but images have 3 channels; give one value for "
            "all, or one for each");
  EXPECT_EQ(refusal(1, {.normalize_std = {1, 1, 1}}),
            "'data.normalize_std' has 3 values, but images have 1 channel; give one value for all, "
            "or one for each");
}

TEST(ImageFolderRow, SmoothsAndMixesWhatIsTrainedOnOnly) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "a");
  folder.write("a/1.png", encode_png({.height = 4, .width = 4}));
  ImageFolderData data{.path = folder.path(), .val_path = folder.path()};
  data.images.soft_labels = {.mixup = 0.2, .smoothing = 0.1};
  const DataSource out = data.open(images_of({3, 4, 4}));
  EXPECT_EQ(out.train->fields().size(), 5U);
  EXPECT_EQ(out.validation->fields().size(), 2U);
  EXPECT_EQ(out.classes, std::vector<std::string>{"a"});
  EXPECT_EQ(usage_error([&] {
              data.open(images_of({3, 4, 4}, 0));
            }),
            "data.mixup and data.label_smoothing are for models that classify");
}

TEST(CifarRow, GivesRecordsAsTheyAreOrAsAskedFor) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.bin", "\x05" + std::string(3072, '\xff'));
  CifarData data{.path = {path}};
  EXPECT_EQ(data.open(images_of({1, 1, 3072})).train->get(0).at("image").shape(),
            (Shape{3, 32, 32}));
  data.images.image_size = {40, 36};
  data.images.normalize_mean = {0.5, 0.25, 0};
  const Sample sample = data.open(images_of({3, 40, 36})).train->get(0);
  const auto image = sample.at("image").as<const float>();
  ASSERT_EQ(image.size(), 3U * 40 * 36);
  EXPECT_EQ(image[0], 0.5F);
  EXPECT_EQ(image[40 * 36], 0.75F);
  EXPECT_EQ(image[2 * 40 * 36], 1.0F);
}

// HDF5 gives zeros for what it does not find: a run would learn them.
TEST(Hdf5Row, RefusesImagesThatAreInAnotherFile) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.h5";
  samples::write_sample(path, {.datasets = {{.path = "/labels", .sizes = {4}}}});
  samples::add_virtual(path, "images", 4, "nowhere.h5", "images");
  EXPECT_THAT(data_error([&] {
                Hdf5Data{.path = path}.open(images_of({1, 1, 4}));
              }),
              ::testing::StartsWith(path + ": /images is a virtual data set: "));
}

TEST(Hdf5Row, ReadsNoMoreThanItMay) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.h5";
  write_tensors_file(path, {{"images", HostTensor::of(Shape{2, 1, 1, 2}, Bytes{1, 2, 3, 4})},
                            {"labels", HostTensor::of(Shape{2}, Bytes{0, 1})}});
  Hdf5Data data{.path = path, .max_gb = 6 * 0x1p-30};
  EXPECT_EQ(data.open(images_of({1, 1, 2})).train->size(), 2);
  data.max_gb = 5 * 0x1p-30;
  EXPECT_EQ(data_error([&] {
              data.open(images_of({1, 1, 2}));
            }),
            path +
                ": /labels is u8[2], 2.00B; at most 5.00B of a file are read, which data.max_gb "
                "changes");
}

TEST(Hdf5Row, ReadsDataSetsByName) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.h5";
  const Bytes pixels = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  write_tensors_file(path, {{"first", HostTensor::of(Shape{2, 3, 1, 2}, pixels)},
                            {"last", HostTensor::of(Shape{2, 1, 2, 3}, pixels)},
                            {"grey", HostTensor::of(Shape{2, 2, 3}, pixels)},
                            {"y", HostTensor::of(Shape{2}, std::vector<std::int64_t>{3, 7})}});
  const auto first_image = [&](const std::string& name, ImageLayout layout) {
    const Hdf5Data data{
        .path = path, .image_dataset = name, .label_dataset = "y", .layout = layout};
    const Sample sample = data.open(images_of({3, 1, 2})).train->get(0);
    EXPECT_EQ(sample.at("label").as<const std::int32_t>()[0], 3);
    Bytes out;
    for (const float value : sample.at("image").as<const float>())
      out.push_back(static_cast<std::uint8_t>(std::lround(value * 255)));
    return out;
  };
  EXPECT_EQ(first_image("first", ImageLayout::kChannelsFirst), (Bytes{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(first_image("last", ImageLayout::kChannelsLast), (Bytes{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(first_image("grey", ImageLayout::kChannelsLast), (Bytes{1, 2, 3, 4, 5, 6}));
  write_tensors_file(path,
                     {{"images", HostTensor::of(Shape{2, 1, 1, 2}, Bytes{1, 2, 3, 4})},
                      {"labels", HostTensor::of(Shape{2}, std::vector<std::int32_t>{999, 0})},
                      {"below", HostTensor::of(Shape{2}, std::vector<std::int64_t>{0, -1})},
                      {"beyond", HostTensor::of(Shape{2}, std::vector<std::int64_t>{0, 1LL << 40})},
                      {"three", HostTensor::of(Shape{3}, Bytes{0, 1, 2})},
                      {"y", HostTensor::of(Shape{2}, std::vector<std::int64_t>{3, 7})}});
  Hdf5Data many{.path = path};
  EXPECT_EQ(
      many.open(images_of({1, 1, 2}, 1000)).train->get(0).at("label").as<const std::int32_t>()[0],
      999);
  const auto refusal = [&](const std::string& labels) {
    many.label_dataset = labels;
    return data_error([&] { many.open(images_of({1, 1, 2}, 1000)); });
  };
  EXPECT_EQ(
      refusal("below"),
      path + ": /below: label -1 of image 1 is not from 0 to below 1000, the number of classes");
  EXPECT_EQ(refusal("beyond"),
            path + ": /beyond: label 1099511627776 of image 1 is not the number of a class");
  EXPECT_EQ(refusal("three"), path + ": /images has 2 images, but /three has labels [3]");
  EXPECT_EQ(refusal("images"), path + ": /images has 2 images, but /images has labels [2,1,1,2]");
  EXPECT_EQ(data_error([&] { first_image("y", ImageLayout::kChannelsFirst); }),
            path + ": /y: images must be u8 of 3 or 4 dimensions, not i64 [2]");
  EXPECT_THAT(data_error([&] { first_image("none", ImageLayout::kChannelsFirst); }),
              testing::HasSubstr("none"));
}

TEST(IdxRow, NamesTheFileOfALabel) {
  const TemporaryFolder folder;
  const std::string labels = folder.write("labels", idx_file({2}));
  const IdxData data{.path = {folder.write("images", idx_file({2, 4, 4}))}, .labels = {labels}};
  EXPECT_EQ(data_error([&] {
              data.open(images_of({1, 4, 4}, 0));
            }),
            labels + ": label 0 of image 0 is not below 0, the number of classes");
}

TEST(IdxRow, RefusesImagesOfAnotherSizeToValidateOn) {
  const TemporaryFolder folder;
  IdxData data{.path = {folder.write("images", idx_file({2, 4, 4}))},
               .labels = {folder.write("labels", idx_file({2}))},
               .val_path = {folder.write("val", idx_file({2, 5, 4}))},
               .val_labels = {folder.write("labels", idx_file({2}))}};
  EXPECT_EQ(data_error([&] {
              data.open(images_of({1, 4, 4}));
            }),
            folder /
                "val: images [1,5,4], but those trained on are [1,4,4] [channel, height, width]; "
                "data.image_size resizes them to one size");
  data.images.image_size = {4};
  EXPECT_EQ(data.open(images_of({1, 4, 4})).validation->fields()[0].shape, (Shape{1, 4, 4}));
}

}  // namespace
}  // namespace lockstep
