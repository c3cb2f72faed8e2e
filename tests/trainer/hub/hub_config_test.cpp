#include "trainer/hub/hub_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/fixtures/error_of.h"
#include "tests/fixtures/file_contents.h"
#include "tests/fixtures/temporary_folder.h"
#include "trainer/config/folder_keys.h"
#include "trainer/config/load.h"
#include "trainer/config/values.h"
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
  EXPECT_GE(count, 15U);
}

TEST(HubConfig, NamesLabels) {
  const auto classes = [](const std::string& rest) {
    return hub_classes(HubFolder("{\"model_type\": \"bert\"" + rest + "}").path());
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(classes(""), Names{});
  EXPECT_EQ(classes(R"(, "id2label": null)"), Names{});
  EXPECT_EQ(classes(R"(, "id2label": {"1": "yes", "0": "no", "10": "a", "2": "b", "3": "c",)"
                    R"( "4": "d", "5": "e", "6": "f", "7": "g", "8": "h", "9": "i"})"),
            (Names{"no", "yes", "b", "c", "d", "e", "f", "g", "h", "i", "a"}));
  EXPECT_EQ(classes(R"(, "id2label": {"0": "LABEL_0", "1": "LABEL_1"})"), Names{}) << "made up";
  EXPECT_EQ(classes(R"(, "id2label": {"0": "LABEL_1", "1": "LABEL_0"})"),
            (Names{"LABEL_1", "LABEL_0"}));
  const auto refusal = [](const std::string& labels) {
    const HubFolder folder("{\"id2label\": " + labels + "}");
    const std::string message = usage_error([&] { hub_classes(folder.path()); });
    return message.substr(std::min(message.size(), folder.path().size() + 1));
  };
  EXPECT_EQ(refusal(R"({"0": "a", "2": "b"})"),
            "config.json:1:14: id2label: has 2 labels, but none for 1");
  EXPECT_EQ(refusal(R"({"0": 1})"), "config.json:1:20: id2label.0: must be a string, not 1");
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
  EXPECT_EQ(loaded.overruled, std::vector<std::string>{"config instead of " + hub.path() +
                                                       "/config.json: model.n_head is 4, not 2"});
}

TEST(FolderKeys, MeetTheRulesOfTheConfig) {
  const HubFolder hub(kSmall);
  const std::string message =
      usage_error([&] { load_with(hub, "  from_pretrained: " + hub.path() + "\n  n_head: 3\n"); });
  EXPECT_EQ(message, hub / "run.yaml" + ":4:3: 'model.n_head' 3 does not divide 'model.n_embd' 8");
}

TEST(FolderKeys, AreRefusedWhereTheyAreNoValues) {
  const HubFolder hub(R"({"model_type": "gpt2", "n_layer": 0, "n_embd": "many"})");
  const std::string at = hub / "run.yaml" + ":3:3: " + hub.path() + "/config.json:1:";
  EXPECT_EQ(usage_error([&] { load_with(hub, "  from_pretrained: " + hub.path() + "\n"); }),
            at + "48: 'model.n_embd' must be an integer >= 1, not the string 'many'\n" + at +
                "35: 'model.n_layer' must be an integer >= 1 and <= 4096, not '0'");
}

/// What is wrong with a config.json of a model, behind the folder's name.
std::string problems_of(const std::string& model, const std::string& json) {
  const HubFolder hub(json);
  const std::string path =
      hub.write("run.yaml", "model: {name: " + model + ", from_pretrained: " + hub.path() +
                                "}\ndata: {type: synthetic}\ntraining: {global_batch_size: 4, "
                                "micro_batch_size: 4, max_steps: 1}\noptimizer: {learning_rate: "
                                "0.1}\n");
  const std::string message = usage_error([&] { load_config(path, built_in()); });
  const std::string file = hub.path() + "/config.json:";
  const std::size_t at = message.find(file);
  return at == std::string::npos ? message : message.substr(at + file.size());
}

// The mechanism, not the keys: whatever key a model has must have its type in config.json, too.
TEST(FolderKeys, OfAnotherTypeAreRefusedForEveryKeyOfEveryModel) {
  const Registry registry = built_in();
  const Schema schema(registry);
  std::size_t count = 0;
  for (const auto& [model, begin] :
       std::map<std::string, std::string>{{"gpt2", R"("model_type": "gpt2")"},
                                          {"llama", R"("model_type": "llama")"},
                                          {"bert", R"("model_type": "bert")"},
                                          {"bert_classifier", R"("model_type": "bert")"},
                                          {"vit", R"("model_type": "vit")"},
                                          {"resnet", R"("architecture": "resnet18")"}}) {
    ModelConfig config;
    config.name = model;
    const HubFormat& format = *registry.at(config).hub;
    for (const ConfigKey& key : schema.keys()) {
      const bool is_hubs = std::ranges::find(format.own_keys, key.name) == format.own_keys.end() &&
                           format.from_hub == nullptr;  // which may give keys other names
      if (key.section != "model" || key.row != &registry.at(config) || !is_hubs) continue;
      SCOPED_TRACE(model + ": " + key.name);
      ++count;
      EXPECT_THAT(problems_of(model, fmt::format("{{{}, \"{}\": {{}}}}", begin, key.name)),
                  testing::MatchesRegex("1:[0-9]+: 'model." + key.name + "' must be .*an object"));
    }
  }
  EXPECT_GE(count, 15U);
}

TEST(FolderKeys, OfAnotherTypeAreRefused) {
  const auto gpt2 = [](const std::string& members) {
    return problems_of("gpt2", "{\"model_type\": \"gpt2\", " + members + "}");
  };
  EXPECT_EQ(gpt2(R"("n_inner": {})"),
            "1:35: 'model.n_inner' must be an integer >= 0, not an object");
  EXPECT_EQ(gpt2(R"("n_inner": {"a": 1})"),
            "1:35: 'model.n_inner' must be an integer >= 0, not an object");
  EXPECT_EQ(gpt2(R"("n_layer": "3")"),
            "1:35: 'model.n_layer' must be an integer >= 1 and <= 4096, not the string '3'");
  EXPECT_EQ(gpt2(R"("n_layer": [3])"),
            "1:35: 'model.n_layer' must be an integer >= 1 and <= 4096, not a list");
  EXPECT_EQ(gpt2(R"("n_inner": null, "summary": {"n_layer": "x"}, "n_ctx": {})"), "no error");
  const auto llama = [](const std::string& members) {
    return problems_of("llama", "{\"model_type\": \"llama\", " + members + "}");
  };
  EXPECT_EQ(llama(R"("rope_scaling": "linear")"),
            "1:41: 'model.rope_scaling' must be an object, not the string 'linear'");
  EXPECT_EQ(llama(R"("rope_scaling": {"factor": "8"})"),
            "1:52: 'model.rope_scaling.factor' must be a number >= 1, not the string '8'");
  EXPECT_EQ(llama(R"("rope_parameters": [1])"),
            "1:44: 'rope_parameters' must be an object, not [1]");
  EXPECT_EQ(llama(R"("rope_scaling.factor": 3, "rope_scaling": null, "pretraining_tp": 1)"),
            "no error")
      << "a key with a dot is not a member of another one";
  EXPECT_EQ(problems_of("vit", R"({"model_type": "vit", "image_size": [224, 224, 3]})"),
            "1:37: 'model.image_size' must be an integer >= 1 and <= 16384, not a list");
  const auto resnet = [](const std::string& members) {
    return problems_of("resnet", "{\"architecture\": \"resnet18\", " + members + "}");
  };
  EXPECT_EQ(resnet(R"("pretrained_cfg": {"input_size": "x"})"),
            "1:63: 'pretrained_cfg.input_size' must be a list of 3, not the string \"x\"");
  EXPECT_EQ(resnet(R"("pretrained_cfg": 3)"), "1:48: 'pretrained_cfg' must be an object, not 3");
  EXPECT_EQ(resnet(R"("model_args": {"channels": 3})"),
            "1:57: 'model_args.channels' must be a list of one or more, not 3");
}

TEST(Preprocessor, IsReadStrictly) {
  const TemporaryFolder folder;
  const auto problem = [&](const std::string& json) {
    const std::string path = folder.write(kHubPreprocessor, json);
    const std::string message = usage_error([&] { read_preprocessor(folder.path()); });
    return message.substr(message.starts_with(path) ? path.size() : 0);
  };
  EXPECT_EQ(problem(R"({"do_rescale": "no"})"),
            ":1:16: do_rescale: must be true or false, not the string \"no\"");
  EXPECT_EQ(problem(R"({"rescale_factor": -1})"),
            ":1:20: rescale_factor: must be a number above 0, not -1");
  EXPECT_EQ(problem(R"({"rescale_factor": 1, "image_mean": [0.5, "x"]})"),
            ":1:43: image_mean[1]: must be a number, not the string \"x\"");
  EXPECT_EQ(problem(R"({"image_mean": null, "do_normalize": null})"), "no error");
}

TEST(FolderKeys, OfAFolderThatIsGoneAreMissedByNewRunsOnly) {
  const HubFolder hub(kSmall);
  const std::string gone = hub / "gone";
  EXPECT_EQ(usage_error([&] { load_with(hub, "  from_pretrained: " + gone + "\n"); }),
            hub / "run.yaml" + ":3:3: 'model.from_pretrained' " + gone +
                ": no such run, checkpoint or folder");
  EXPECT_EQ(load_with(hub, "  from_pretrained: " + gone + "\n", true).missing_folder,
            hub / "run.yaml" + ":3:3: 'model.from_pretrained' " + gone +
                ": no such run, checkpoint or folder");
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
}

}  // namespace
}  // namespace lockstep
