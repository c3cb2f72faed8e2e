#include "data/captions/caption_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixtures/error_of.h"
#include "tests/fixtures/temporary_folder.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

class CaptionFileTest : public testing::Test {
 protected:
  std::string file(std::string_view text) const { return folder_.write("c.json", text); }
  std::string problem(std::string_view text) const {
    const std::string path = file(text);
    const std::string message = data_error([&] { read_captions(path); });
    EXPECT_TRUE(message.starts_with(path)) << message;
    return message.substr(std::min(path.size(), message.size()));
  }
  static std::vector<std::string> texts(const CaptionedImage& image) {
    std::vector<std::string> out;
    out.reserve(image.captions.size());
    for (const Caption& caption : image.captions) out.push_back(caption.text);
    return out;
  }

  TemporaryFolder folder_;
};

TEST_F(CaptionFileTest, ReadsJsonLines) {
  const CaptionFile read = read_captions(
      file("\n{\"image\": \"i/a.png\", \"caption\": \"a cat\"}\n \n"
           "{\"captions\": [\"a dog\", \"it sits\"], \"image\": \"b.png\", \"more\": 1}\r\n"));
  ASSERT_EQ(read.images.size(), 2U);
  EXPECT_FALSE(read.is_coco);
  EXPECT_EQ(read.image_path(read.images[0]), folder_ / "i/a.png");
  EXPECT_THAT(texts(read.images[0]), ElementsAre("a cat"));
  EXPECT_THAT(texts(read.images[1]), ElementsAre("a dog", "it sits"));
  EXPECT_EQ(read.place_of(read.images[1]), folder_ / "c.json:4");
  EXPECT_EQ(read.place_of(read.images[0].captions[0]), folder_ / "c.json:2");
  EXPECT_EQ(read.text(), "a cat\na dog\nit sits\n");
  const CaptionFile elsewhere = read_captions(read.path, "elsewhere");
  EXPECT_EQ(elsewhere.image_path(elsewhere.images[1]), "elsewhere/b.png");
}

TEST_F(CaptionFileTest, ReadsCocoOnOneLineOrMany) {
  const std::string images = R"("images": [{"id": -7, "file_name": "a.png"},
                                           {"id": 9, "file_name": "b.png"}])";
  const std::string annotations = R"("annotations": [{"image_id": 9, "id": 1, "caption": "image"},
    {"image_id": -7, "caption": "a cat"}, {"image_id": 9, "caption": "a dog"}])";
  std::string text = "{\"info\": {},\n" + images + ",\n" + annotations + "}\n";
  for (int lines = 2; lines-- > 0;) {
    const CaptionFile read = read_captions(file(text), "folder");
    ASSERT_EQ(read.images.size(), 2U);
    EXPECT_TRUE(read.is_coco);
    EXPECT_EQ(read.image_path(read.images[0]), "folder/a.png");
    EXPECT_THAT(texts(read.images[0]), ElementsAre("a cat"));
    EXPECT_THAT(texts(read.images[1]), ElementsAre("image", "a dog"));
    EXPECT_EQ(read.place_of(read.images[1]), folder_ / "c.json: images[1]");
    EXPECT_EQ(read.place_of(read.images[1].captions[1]), folder_ / "c.json: annotations[2]");
    std::ranges::replace(text, '\n', ' ');
  }
}

TEST_F(CaptionFileTest, NamesTheLineThatIsWrong) {
  EXPECT_EQ(problem(R"({"image": "a.png", "caption": "a"}
{"image": "a.png", "caption": })"),
            ":2:31: not valid JSON: in value - unexpected '}'; expected '[', '{', or a literal");
  EXPECT_EQ(problem("[1]"), ":1:1: a line must be an object, not a list");
  EXPECT_EQ(problem("hello"), ":1:1: not valid JSON: in value - invalid literal");
  EXPECT_EQ(problem(R"({"caption": "a"})"), ":1:1: 'image' is missing");
  EXPECT_EQ(problem(R"({"image": 5, "caption": "a"})"), ":1:11: image: must be a string, not 5");
  EXPECT_EQ(problem(R"({"image": "", "caption": "a"})"),
            ":1:11: image: the string \"\" is no file's name");
  EXPECT_EQ(problem(R"({"image": "a\u0000b", "caption": "a"})"),
            ":1:11: image: the string \"a\\u0000b\" is no file's name");
  EXPECT_EQ(problem(R"({"image": "a"})"),
            ":1:1: an image needs either 'caption' or 'captions', but this one has neither");
  EXPECT_EQ(problem(R"({"image": "a", "caption": "a", "captions": []})"),
            ":1:1: an image needs either 'caption' or 'captions', but this one has both");
  EXPECT_EQ(problem(R"({"image": "a", "caption": null})"),
            ":1:27: caption: must be a string, not null");
  EXPECT_EQ(problem(R"({"image": "a", "captions": "a"})"),
            ":1:28: captions: must be a list, not the string \"a\"");
  EXPECT_EQ(problem(R"({"image": "a", "captions": ["a", 1]})"),
            ":1:34: captions[1]: must be a string, not 1");
  EXPECT_EQ(problem(R"({"image": "a", "captions": []})"),
            ":1:28: captions: an image without captions; remove the line");
  EXPECT_EQ(problem(R"({"image": "a", "caption": " "})"), ":1:27: caption: the caption is empty");
  EXPECT_EQ(problem(" \n\n"), ": no captions in 2 lines");
  EXPECT_EQ(problem(""), ": the file is empty (0 bytes), but text is needed");
  EXPECT_EQ(data_error([&] { read_captions(folder_ / "none"); }),
            folder_ / "none: cannot be opened: No such file or directory");
}

TEST_F(CaptionFileTest, NamesThePlaceInCocoThatIsWrong) {
  const auto coco = [&](const std::string& images, const std::string& annotations) {
    return problem("{\"images\":[" + images + "],\n\"annotations\":[" + annotations + "]}");
  };
  const std::string image = R"({"id":1,"file_name":"a"})";
  EXPECT_EQ(problem("{\"annotations\": [\n"), ":2:1: not valid JSON: the text ends too early");
  EXPECT_EQ(problem("{\n\"annotations\": []}"), ":1:1: 'images' is missing");
  EXPECT_EQ(problem("{\n\"images\": []}"), ":1:1: 'annotations' is missing");
  EXPECT_EQ(problem("{\n\"images\": {}}"), ":2:11: images: must be a list, not an object");
  EXPECT_EQ(problem("[{\n\"images\": []}]"), ":1:1: must be an object, not a list");
  EXPECT_EQ(coco("", ""), ": no captions in it");
  EXPECT_EQ(coco(image, ""), ": no captions in it");
  EXPECT_EQ(coco("5", ""), ":1:12: images[0]: must be an object, not 5");
  EXPECT_EQ(coco(R"({"file_name":"a"})", ""), ":1:12: images[0]: 'id' is missing");
  EXPECT_EQ(coco(R"({"id":1})", ""), ":1:12: images[0]: 'file_name' is missing");
  EXPECT_EQ(coco(R"({"id":"1","file_name":"a"})", ""),
            ":1:18: images[0].id: must be an integer from -9223372036854775808 to "
            "9223372036854775807, not the string \"1\"");
  EXPECT_EQ(coco(image + "," + image, ""), ":1:37: images[1]: its id 1 is that of images[0], too");
  EXPECT_EQ(coco(image, R"({"image_id":2,"caption":"a"})"),
            ":2:28: annotations[0].image_id: none of the 1 images has the id 2");
  EXPECT_EQ(coco(image, R"({"image_id":1e9,"caption":"a"})"),
            ":2:28: annotations[0].image_id: must be an integer from -9223372036854775808 to "
            "9223372036854775807, not 1e9");
  EXPECT_EQ(coco(image, R"({"image_id":1})"), ":2:16: annotations[0]: 'caption' is missing");
  EXPECT_EQ(coco(image + R"(,{"id":2,"file_name":"b"})", R"({"image_id":1,"caption":"a"})"),
            ":1:37: images[1]: an image without captions; remove it from 'images'");
}

TEST_F(CaptionFileTest, NamesTheFilesThatItReads) {
  const std::string path = file("{\"image\": \"a.png\", \"caption\": \"a\"}");
  EXPECT_THAT(files_of_captions(path, ""), ElementsAre(path, folder_ / "a.png"));
  EXPECT_THAT(files_of_captions(path, "x"), ElementsAre(path, "x/a.png"));
  EXPECT_THAT(files_of_captions(folder_ / "none", ""), ElementsAre());
}

}  // namespace
}  // namespace lockstep
