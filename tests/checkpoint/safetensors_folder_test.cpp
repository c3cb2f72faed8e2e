#include "checkpoint/safetensors_folder.h"

#include <gtest/gtest.h>

#include "tests/checkpoint/safetensors_text.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/temporary_folder.h"

namespace lockstep {
namespace {

/// A folder of shards, each with tensors of one byte by these names.
class ShardsTest : public ::testing::Test {
 protected:
  void shard(const std::string& file, const std::vector<std::string>& names) {
    std::vector<SafetensorsItem> items;
    for (const std::string& name : names) items.push_back({name, DType::kU8, {1}});
    write_safetensors(folder_ / file, items, {}, [](const std::string& name) {
      return HostTensor::of(Shape{1},
                            std::vector<std::uint8_t>{static_cast<std::uint8_t>(name[0])});
    });
  }
  void index(const std::string& text) { folder_.write(kWeightsIndex, text); }

  /// Without the path of the folder.
  std::string problem() {
    std::string message =
        error_of(ErrorKind::kCheckpoint, [&] { SafetensorsFolder opened(folder_.path()); });
    for (std::size_t at = 0; (at = message.find(folder_.path())) != std::string::npos;)
      message.replace(at, folder_.path().size(), "FOLDER");
    return message;
  }

  const TemporaryFolder folder_;
};

TEST_F(ShardsTest, ReadsOneFile) {
  shard(kWeightsFile, {"a", "b"});
  const SafetensorsFolder opened(folder_.path());
  ASSERT_EQ(opened.tensors().size(), 2U);
  const SafetensorsFolder::Tensor& b = opened.tensors().at("b");
  EXPECT_EQ(b.file->read(*b.entry).as<std::uint8_t>()[0], 'b');
}

TEST_F(ShardsTest, ReadsShards) {
  shard("one", {"c", "a"});
  shard("two", {"b"});
  index(R"({"metadata":{"total_size":3},"weight_map":{"a":"one","b":"two","c":"one"}})");
  const SafetensorsFolder opened(folder_.path());
  ASSERT_EQ(opened.tensors().size(), 3U);
  for (const auto& [name, tensor] : opened.tensors())
    EXPECT_EQ(tensor.file->read(*tensor.entry).as<std::uint8_t>()[0], name[0]);
  EXPECT_EQ(weight_files(folder_.path()),
            (std::vector<std::string>{folder_ / kWeightsIndex, folder_ / "one", folder_ / "two"}));
}

TEST_F(ShardsTest, TellsWhatIsNotAsTheIndexSays) {
  shard("one", {"a", "b", "x"});
  shard("two", {"b", "c"});
  index(R"({"weight_map":{"a":"one","b":"two","c":"one","d":"two"}})");
  EXPECT_EQ(problem(),
            "FOLDER/model.safetensors.index.json: the shards are not those of the index:\n"
            "  'b' is in one, but the index says two\n"
            "  'x' is in one, but not in the index\n"
            "  'b' is in one and in two\n"
            "  'c' is in two, but the index says one\n"
            "  'd' is not in two, where the index says it is");
}

TEST_F(ShardsTest, NamesAllShardsThatAreMissing) {
  shard("one", {"a"});
  index(R"({"weight_map":{"a":"one","b":"two","c":"three"}})");
  EXPECT_EQ(problem(),
            "FOLDER/model.safetensors.index.json: the shards are not those of the index:\n"
            "  FOLDER/three: no such file\n"
            "  FOLDER/two: no such file");
}

TEST_F(ShardsTest, RefusesAnIndexThatIsNone) {
  const std::string file = "FOLDER/model.safetensors.index.json:1:";
  const auto refuse = [&](const std::string& text) {
    index(text);
    return problem();
  };
  EXPECT_EQ(refuse("{"), file + "2: not valid JSON: the text ends too early");
  EXPECT_EQ(refuse("[]"), file + "1: must be an object, not a list");
  EXPECT_EQ(refuse(std::string("{}\0{", 4)),
            file + "3: not valid JSON: a NUL byte (0x00); the file is damaged, or no text");
  EXPECT_EQ(refuse("{}"), file + "1: has no 'weight_map' that says where tensors are");
  EXPECT_EQ(refuse(R"({"weight_map":{"a":"x","a":"x"}})"),
            file + "24: the key \"a\" is there twice, first at 1:16");
  EXPECT_EQ(refuse(R"({"weight_map":{"a":1}})"),
            file + "20: weight_map.a: must be a string, not 1");
  EXPECT_EQ(refuse(R"({"a":)" + std::string(100, '[')), file + "69: nested more than 64 deep");
  EXPECT_EQ(refuse(R"({"weight_map":[]})"), file + "15: weight_map: must be an object, not a list");
  for (const char* outside : {"../x", "/etc/passwd", "a/b", "..", "", "x\\u0000"})
    EXPECT_EQ(
        refuse(fmt::format(R"({{"weight_map":{{"a":"{}"}}}})", outside)),
        fmt::format("{}20: weight_map.a: \"{}\" is not a file beside the index", file, outside));
}

TEST_F(ShardsTest, SaysWhatAFolderWithoutWeightsLacks) {
  const std::string neither =
      "FOLDER: the folder has neither model.safetensors nor model.safetensors.index.json";
  EXPECT_EQ(problem(), neither);
  folder_.write("pytorch_model.bin", "");
  EXPECT_EQ(problem(), neither +
                           "; pytorch_model.bin holds Python objects: save it again with "
                           "model.save_pretrained(folder, safe_serialization=True)");
  EXPECT_EQ(error_of([&] { SafetensorsFolder opened(folder_ / "none"); }),
            "4: " + (folder_ / "none") + ": no such folder");
}

}  // namespace
}  // namespace lockstep
