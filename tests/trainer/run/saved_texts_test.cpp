#include "trainer/run/saved_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/images/image_array.h"
#include "data/images/image_dataset.h"
#include "data/samples/tensor_dataset.h"
#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

DataSource images(std::vector<std::string> classes) {
  const auto array = std::make_shared<ImageArray>(
      LabelledImages{"x", Shape{1, 2, 3}, std::vector<std::uint8_t>(6), {0}});
  return {.train = std::make_shared<ImageDataset>(
              array, ImageOptions{.shape = Shape{1, 2, 3}, .classes = 2}),
          .classes = std::move(classes)};
}

TEST(SampleFacts, ComeBackFromCheckpoints) {
  const std::string json = sample_facts_of(images({"cat", "a \"dog\"", "k\xc3\xa4se"}));
  const auto facts = saved_sample_facts(json, "x.h5");
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->shape, (std::array<std::int64_t, 3>{1, 2, 3}));
  EXPECT_THAT(facts->classes, testing::ElementsAre("cat", "a \"dog\"", "k\xc3\xa4se"));
}

// Names of folders are bytes.
TEST(SampleFacts, HoldNamesThatAreNoText) {
  const auto facts = saved_sample_facts(sample_facts_of(images({"\xff\n", "\xfe", "\n"})), "x.h5");
  EXPECT_THAT(facts->classes, testing::ElementsAre("\\xff\\n", "\\xfe", "\n")) << "one each";
}

TEST(SampleFacts, AreOfImagesAndNamedLabelsOnly) {
  const HostTensor points = HostTensor::of(Shape{1, 2}, std::vector<float>{1, 2});
  EXPECT_EQ(sample_facts_of({.train = tensor_dataset({{"x", points}})}), "");
  EXPECT_FALSE(saved_sample_facts("", "x.h5").has_value());
  const auto named = saved_sample_facts(
      sample_facts_of({.train = tensor_dataset({{"x", points}}), .classes = {"no", "yes"}}),
      "x.h5");
  ASSERT_TRUE(named.has_value());
  EXPECT_THAT(named->classes, testing::ElementsAre("no", "yes"));
  EXPECT_EQ(named->shape, (std::array<std::int64_t, 3>{}));
}

TEST(SampleFacts, HoldLabelsToTheirClasses) {
  const auto saved = saved_sample_facts(sample_facts_of(images({"cat", "dog"})), "x.h5");
  const auto refusal = [&](const std::vector<std::string>& classes) {
    return data_error([&] { check_saved_classes(saved, "x.h5", images(classes)); });
  };
  for (const auto& classes :
       std::vector<std::vector<std::string>>{{"cat", "dog"}, {"cat", "dog", "emu"}, {"cat"}, {}})
    EXPECT_NO_THROW(check_saved_classes(saved, "x.h5", images(classes)));
  EXPECT_NO_THROW(check_saved_classes(std::nullopt, "x.h5", images({"emu"})));
  const std::string rest = "; give the folders their previous names, or start a new run";
  EXPECT_EQ(refusal({"ant", "cat", "dog"}),
            "x: 1 images [1,2,3]: class 0 is 'ant', but 'cat' in x.h5" + rest);
  EXPECT_EQ(refusal({"cat", "\xff"}),
            "x: 1 images [1,2,3]: class 1 is '\\xff', but 'dog' in x.h5" + rest);
  const auto bytes = saved_sample_facts(sample_facts_of(images({"\xff"})), "x.h5");
  EXPECT_NO_THROW(check_saved_classes(bytes, "x.h5", images({"\xff"})));
}

TEST(SampleFacts, RefuseWhatNobodySaved) {
  const auto refusal = [](const std::string& json) {
    return error_of(ErrorKind::kCheckpoint, [&] { saved_sample_facts(json, "x.h5"); });
  };
  const std::string begin = "x.h5: the saved description of its samples cannot be read: ";
  for (const char* json :
       {"{", "[]", "{}", R"({"image": [1, 2], "classes": []})",
        R"({"image": [1, 2, "3"], "classes": []})", R"({"image": [1, 2, 3], "classes": [4]})"})
    EXPECT_THAT(refusal(json), testing::StartsWith(begin)) << json;
  EXPECT_EQ(refusal(R"({"image": [1, 0, 3], "classes": []})"), begin + "images of size 0");
  EXPECT_EQ(refusal(R"({"image": [3, 100000000, 100000000], "classes": []})"),
            begin + "images [3, 100000000, 100000000]");
}

}  // namespace
}  // namespace lockstep
