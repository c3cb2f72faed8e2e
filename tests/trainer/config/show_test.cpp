#include "trainer/config/show.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "trainer/config/load.h"
#include "trainer/config/schema.h"
#include "trainer/config/values.h"
#include "trainer/datasets/token_files.h"
#include "trainer/optimizers/adamw.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

/// Everything here is of lockstep's own models, datasets and optimizers.
const Registry kRegistry = built_in();
const Schema kSchema(kRegistry);

Config shipped(const std::string& name) {
  return load_config(LOCKSTEP_SOURCE_DIR "/configs/" + name, kRegistry).config;
}

std::string yaml_of(const Config& config) {
  return config_yaml(config, kRegistry);
}

Config reparsed(const Config& config) {
  return parse_config(yaml_of(config), "shown.yaml", kRegistry).config;
}

TEST(ConfigShow, TheResolvedYamlOfEveryShippedConfigParsesBackToTheSame) {
  for (const auto& entry : fs::recursive_directory_iterator(LOCKSTEP_SOURCE_DIR "/configs")) {
    if (entry.path().extension() != ".yaml") continue;
    if (entry.path().parent_path().filename() == "devices") continue;  // profiles, not configs
    SCOPED_TRACE(entry.path());
    const Config config = load_config(entry.path().string(), kRegistry).config;
    EXPECT_THAT(config_diff(config, reparsed(config), kRegistry), ElementsAre());
    EXPECT_EQ(yaml_of(config), yaml_of(reparsed(config)));
  }
}

TEST(ConfigShow, AnyTextAndNumberSurvivesTheRoundTrip) {
  EXPECT_TRUE(rc::check([] {
    Config config = shipped("gpt_char.yaml");
    config.sample.prompt = *rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127));
    const auto word = rc::gen::nonEmpty(rc::gen::container<std::string>(
        rc::gen::elementOf(std::string("aZ09 :#-'\"[]{},&*!|>%@`~\\.\n\t/"))));
    config.data.keys.as<TextData>().path =
        *rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(word));
    // A run's name is that of a folder: no slash, and not "." or "..".
    config.run.name = "n" + *rc::gen::container<std::string>(rc::gen::elementOf(
                                std::string("aZ09 :#-'\"[]{},&*!|>%@`~\\.\n\t")));
    auto& adamw = config.optimizer.keys.as<AdamW>();
    adamw.learning_rate = 2.0 + *rc::gen::inRange(0, 1 << 30) / 1e9;
    adamw.eps = 1.0 / *rc::gen::inRange<std::int64_t>(1, 1LL << 50);
    config.run.seed = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000'000);
    const Config back = reparsed(config);
    RC_ASSERT(back.sample.prompt == config.sample.prompt);
    RC_ASSERT(back.data.keys.as<TextData>().path == config.data.keys.as<TextData>().path);
    RC_ASSERT(back.run.name == config.run.name);
    RC_ASSERT(back.optimizer.keys.as<AdamW>().learning_rate == adamw.learning_rate);
    RC_ASSERT(back.optimizer.keys.as<AdamW>().eps == adamw.eps);
    RC_ASSERT(back.run.seed == config.run.seed);
  }));
}

TEST(ConfigShow, OnlyKeysThatHaveAnEffectAreShown) {
  const std::string mlp = yaml_of(shipped("mnist_mlp.yaml"));
  EXPECT_THAT(mlp, HasSubstr("  hidden_sizes: [512, 512]\n"));
  EXPECT_EQ(mlp.find("n_layer"), std::string::npos);
  EXPECT_EQ(mlp.find("tokenizer"), std::string::npos);
}

TEST(ConfigShow, TheDiffNamesEveryChangedKey) {
  const Config before = shipped("gpt_char.yaml");
  Config after = before;
  after.optimizer.keys.as<AdamW>().learning_rate = 3e-4;
  after.scheduler.name = SchedulerName::kConstant;
  EXPECT_THAT(
      config_diff(before, after, kRegistry),
      ElementsAre("optimizer.learning_rate: 0.001 -> 0.0003", "scheduler.name: cosine -> constant",
                  "scheduler.min_lr: 0.0001 -> (none)", "scheduler.decay_steps: 0 -> (none)"));
}

TEST(ConfigSchema, EveryKeyIsDocumentedAndItsDefaultIsAllowed) {
  const std::string text = config_schema_text(kRegistry);
  for (const ConfigKey& key : kSchema.keys()) {
    SCOPED_TRACE(key.path);
    const std::string line = key.path + ": ";
    const std::size_t at = text.find("\n" + line);
    EXPECT_TRUE(text.starts_with(line) || at != std::string::npos);
    // Where rows have a key of the path that differs, each says whose it is.
    for (std::size_t i = text.find("\n" + line, at + 1); i != std::string::npos;
         i = text.find("\n" + line, i + 1)) {
      ASSERT_NE(key.row, nullptr);
      const std::string selector(key.rows->selector);
      const std::size_t doc = text.find('\n', i + 1), end = text.find('\n', doc + 1);
      EXPECT_THAT(text.substr(doc, end - doc), HasSubstr("Only with " + selector + ": "));
    }
    EXPECT_TRUE(key.doc.ends_with('.'));
    if (key.required || key.path == "run.name") continue;
    Config config;
    if (key.row != nullptr) key.rows->chosen(config) = key.row->name;
    EXPECT_EQ(set_value(key, default_value_text(key), config).value_or(""), "");
  }
}

TEST(ConfigSchema, SectionsAreContiguous) {
  const std::vector<std::string_view> sections = kSchema.sections();
  EXPECT_EQ(std::set<std::string_view>(sections.begin(), sections.end()).size(), sections.size());
}

TEST(ConfigSchema, TheTextGivesTypeRangeUnitDefaultAndCondition) {
  const std::string text = config_schema_text(kRegistry);
  EXPECT_THAT(text, HasSubstr("training.max_steps: integer >= -1 (steps), default -1\n"));
  EXPECT_THAT(text, HasSubstr("optimizer.learning_rate: number >= 0, required\n"));
  EXPECT_THAT(text, HasSubstr("    GPT-2's vocab.json. Ranks may differ. Only with "
                              "tokenizer.type: gpt2.\n"));
}

TEST(ConfigSchema, TheJsonSchemaHasEveryKeyAndRefusesOthers) {
  const auto schema = nlohmann::json::parse(config_schema_json(kRegistry));
  EXPECT_EQ(schema["additionalProperties"], false);
  for (const ConfigKey& key : kSchema.keys()) {
    SCOPED_TRACE(key.path);
    auto section = schema["properties"][key.section];
    EXPECT_EQ(section["additionalProperties"], false);
    std::string name = key.name;
    if (const std::size_t dot = name.find('.'); dot != std::string::npos) {
      section = nlohmann::json(section["properties"][name.substr(0, dot)]);
      EXPECT_EQ(section["additionalProperties"], false);
      name = name.substr(dot + 1);
    }
    ASSERT_TRUE(section["properties"].contains(name));
    const auto& property = section["properties"][name];
    const bool several = property.contains("anyOf") && !property.contains("description");
    for (const auto& one : several ? property["anyOf"] : nlohmann::json::array({property}))
      EXPECT_EQ(one["x-per-rank"], key.per_rank);
  }
  const auto& optimizer = schema["properties"]["optimizer"];
  const auto& betas = optimizer["properties"]["betas"]["anyOf"];
  ASSERT_EQ(betas.size(), 2U);
  EXPECT_EQ(betas[0]["default"], nlohmann::json({0.9, 0.999}));
  EXPECT_EQ(betas[0]["x-only-with"],
            nlohmann::json({{"optimizer.name", {"adamw", "adam", "lamb"}}}));
  EXPECT_EQ(betas[1]["x-only-with"], nlohmann::json({{"optimizer.name", {"lion"}}}));
  EXPECT_EQ(optimizer["required"], nlohmann::json({"learning_rate"}));
}

}  // namespace
}  // namespace lockstep
