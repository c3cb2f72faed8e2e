#include "trainer/hub/hub_config.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/core/error_of.h"
#include "tests/core/file_contents.h"
#include "tests/core/temporary_folder.h"
#include "trainer/config/load.h"
#include "trainer/config/values.h"
#include "trainer/hub/folder_keys.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

const HubFormat& gpt2_format() {
  static const Registry registry = built_in();
  ModelConfig config;
  config.name = "gpt2";
  return *registry.at(config).hub;
}

/// A folder with this config.json.
struct HubFolder : TemporaryFolder {
  explicit HubFolder(const std::string& json) { write(kHubConfig, json); }
};

TEST(HubConfig, EveryBadConfigJsonIsRefusedWithItsMessage) {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(LOCKSTEP_SOURCE_DIR "/tests/errors/hub")) {
    if (entry.path().extension() != ".json") continue;
    SCOPED_TRACE(entry.path().filename());
    ++count;
    const TemporaryFolder folder;
    const std::string name = entry.path().stem().string();
    fs::create_directory(folder / name);
    fs::copy(entry.path(), folder / name + "/config.json");
    std::string message = usage_error(
        [&] { read_hub_config(folder / name, gpt2_format(), "gpt2", /*strict=*/true); });
    for (std::size_t at = 0; (at = message.find(folder.path() + "/")) != std::string::npos;)
      message.erase(at, folder.path().size() + 1);
    EXPECT_EQ(message + "\n", contents_of(fs::path(entry.path()).replace_extension(".txt")));
  }
  EXPECT_GE(count, 8U);
}

TEST(HubConfig, HasWhatTheFileSaysAndTheHubsDefaults) {
  const HubFolder folder(
      R"({"model_type": "gpt2", "n_layer": 3, "n_inner": null, "n_positions": 64,)"
      R"( "layer_norm_epsilon": 1e-5, "summary_type": "x", "task": {"a": {"b": 1}, "c": 2}})");
  const HubValues values = read_hub_config(folder.path(), gpt2_format(), "gpt2", true);
  EXPECT_EQ(values.at("n_layer"), "3");
  EXPECT_EQ(values.at("n_positions"), "64");
  EXPECT_EQ(values.at("vocab_size"), "50257");
  EXPECT_EQ(values.at("task.c"), "2");
  EXPECT_FALSE(values.contains("n_inner"));
}

TEST(HubConfig, WithoutStrictAnyArchitectureOfTheTypeWillDo) {
  const HubFolder folder(R"({"model_type": "gpt2", "architectures": ["GPT2Other"]})");
  EXPECT_NO_THROW(read_hub_config(folder.path(), gpt2_format(), "gpt2", false));
}

TEST(HubConfig, IsWrittenSortedAndIndented) {
  EXPECT_EQ(hub_config_text({{"b", "1"}, {"a.y", "true"}, {"a.x", "null"}, {"c", "[\"d\"]"}}),
            "{\n  \"a\": {\n    \"x\": null,\n    \"y\": true\n  },\n  \"b\": 1,\n  \"c\": [\n    "
            "\"d\"\n  ]\n}\n");
}

/// Loads a config of gpt2 on synthetic data whose model section has these lines besides.
LoadedConfig load_with(const TemporaryFolder& hub, const std::string& model,
                       bool may_go_on = false) {
  const std::string path = hub.write(
      "run.yaml", "model:\n  name: gpt2\n" + model +
                      "data:\n  type: synthetic\ntraining:\n  global_batch_size: 4\n"
                      "  micro_batch_size: 4\n  max_steps: 1\noptimizer:\n  learning_rate: 0.1\n");
  return load_config(path, built_in(), {}, may_go_on);
}

std::string value_of(const LoadedConfig& loaded, const std::string& path) {
  const Registry registry = built_in();
  const Schema schema(registry);
  return value_text(*schema.find(path, loaded.config), loaded.config);
}

constexpr const char* kSmall =
    R"({"model_type": "gpt2", "n_layer": 3, "n_head": 2, "n_embd": 8, "vocab_size": 50})";

TEST(FolderKeys, FillWhatTheConfigLeavesOpen) {
  const HubFolder hub(kSmall);
  const LoadedConfig loaded =
      load_with(hub, "  from_pretrained: " + hub.path() + "\n  n_layer: 3\n  n_head: 4\n");
  EXPECT_EQ(value_of(loaded, "model.n_layer"), "3");
  EXPECT_EQ(value_of(loaded, "model.n_head"), "4");
  EXPECT_EQ(value_of(loaded, "model.n_embd"), "8");
  EXPECT_EQ(value_of(loaded, "model.vocab_size"), "50");
  EXPECT_EQ(loaded.overruled, std::vector<std::string>{"model.n_head is 4, not 2"});
}

TEST(FolderKeys, MeetTheRulesOfTheConfig) {
  const HubFolder hub(kSmall);
  const std::string message =
      usage_error([&] { load_with(hub, "  from_pretrained: " + hub.path() + "\n  n_head: 3\n"); });
  EXPECT_EQ(message, hub / "run.yaml" + ":4:3: 'model.n_head' 3 does not divide 'model.n_embd' 8");
}

TEST(FolderKeys, AreRefusedWhereTheyAreNoValues) {
  const HubFolder hub(R"({"model_type": "gpt2", "n_layer": 0, "n_embd": "many"})");
  const std::string at = hub / "run.yaml" + ":3:3: " + hub.path() + "/config.json: ";
  EXPECT_EQ(usage_error([&] { load_with(hub, "  from_pretrained: " + hub.path() + "\n"); }),
            at + "'model.n_embd' must be an integer >= 1, not the string 'many'\n" + at +
                "'model.n_layer' must be an integer >= 1 and <= 4096, not '0'");
}

TEST(FolderKeys, OfAFolderThatIsGoneAreMissedByNewRunsOnly) {
  const HubFolder hub(kSmall);
  const std::string gone = hub / "gone";
  EXPECT_EQ(usage_error([&] { load_with(hub, "  from_pretrained: " + gone + "\n"); }),
            hub / "run.yaml" + ":3:3: 'model.from_pretrained' " + gone + ": no such folder");
  EXPECT_EQ(load_with(hub, "  from_pretrained: " + gone + "\n", true).missing_folder,
            "'model.from_pretrained' " + gone + ": no such folder");
}

TEST(FolderKeys, OfARunThatGoesOnAreThoseThatWereSaved) {
  const HubFolder hub(kSmall);
  const Config saved = load_with(hub, "  from_pretrained: " + hub.path() + "\n").config;
  const LoadedConfig again =
      load_with(hub, "  from_pretrained: " + (hub / "gone") + "\n  dropout: 0.5\n", true);
  Config config = again.config;
  take_saved_keys(saved, again, built_in(), config);
  LoadedConfig merged = again;
  merged.config = config;
  EXPECT_EQ(value_of(merged, "model.n_embd"), "8");
  EXPECT_EQ(value_of(merged, "model.attn_pdrop"), "0.5");
}

TEST(HubFormat, RenamesByPatterns) {
  EXPECT_EQ(renamed("transformer.h.0", HubRename{"transformer.*", "*"}), "h.0");
  EXPECT_EQ(renamed("h.0", HubRename{"transformer.*", "*"}), "h.0");
  EXPECT_EQ(renamed("a.LayerNorm.gamma", HubRename{"*.LayerNorm.gamma", "*.LayerNorm.weight"}),
            "a.LayerNorm.weight");
  EXPECT_EQ(renamed("x", HubRename{"x", "y"}), "y");
  EXPECT_EQ(renamed("a.b.c", std::vector<HubRename>{{"a.*", "*"}, {"*.c", "*.d"}}), "b.d");
  EXPECT_TRUE(matches("h.0.attn.bias", "h.*.attn.bias"));
  EXPECT_FALSE(matches("h.0.attn.c_attn.bias", "h.*.attn.bias"));
  EXPECT_FALSE(matches("aba", "ab*ba")) << "begin and end must not overlap";
}

}  // namespace
}  // namespace lockstep
