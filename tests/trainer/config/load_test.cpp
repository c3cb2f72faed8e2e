#include "trainer/config/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "tests/fixtures/error_of.h"
#include "trainer/config/batch_plan.h"
#include "trainer/config/schema.h"
#include "trainer/config/show.h"
#include "trainer/config/yaml_tree.h"
#include "trainer/datasets/image_folder_data.h"
#include "trainer/datasets/synthetic_data.h"
#include "trainer/models/gpt2/gpt2_config.h"
#include "trainer/models/vision/vision_config.h"
#include "trainer/optimizers/adamw.h"
#include "trainer/optimizers/sgd.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kMlp = R"(model:
  name: mlp
data:
  type: synthetic
training:
  max_steps: 10
  global_batch_size: 64
  micro_batch_size: 8
optimizer:
  learning_rate: 1e-3
)";

Config parse(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return parse_config(text, "run.yaml", built_in(), overrides).config;
}

std::string config_error(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return usage_error([&] { parse_config(text, "run.yaml", built_in(), overrides); });
}

TEST(ConfigLoad, AMinimalConfigGetsTheDefaults) {
  const Config config = parse(kMlp);
  EXPECT_EQ(config.model.name, "mlp");
  EXPECT_THAT(config.model.keys.as<MlpConfig>().hidden_sizes, ElementsAre(512, 512));
  EXPECT_EQ(config.run.name, "run");  // the file's name
  EXPECT_EQ(config.optimizer.keys.as<AdamW>().learning_rate, 1e-3);
  EXPECT_EQ(config.distributed.bucket_mb, 25.0);
  EXPECT_TRUE(config.batch.deterministic);
}

TEST(ConfigLoad, ASectionMayHaveSectionsOfItsOwn) {
  const std::string text = std::string(kMlp) + "profile:\n  trace: {steps: [100, 110]}\n";
  const Config config = parse(text);
  EXPECT_THAT(config.profile.trace.steps, ElementsAre(100, 110));
  const std::string shown = config_yaml(config, built_in());
  EXPECT_THAT(shown, HasSubstr("  trace:\n    steps: [100, 110]\n"));
  EXPECT_THAT(parse(shown).profile.trace.steps, ElementsAre(100, 110));
  EXPECT_THAT(parse(kMlp, {"profile.trace.steps=[0,3]"}).profile.trace.steps, ElementsAre(0, 3));
  EXPECT_THAT(config_error(kMlp, {"profile.trace=[0,3]"}),
              HasSubstr("unknown key 'profile.trace'"));
}

TEST(ConfigLoad, AListOfNumbersMayBeANumber) {
  const auto images = [](const std::vector<std::string>& overrides) {
    std::vector<std::string> all = {"data.type=image_folder", "data.path=images"};
    all.insert(all.end(), overrides.begin(), overrides.end());
    const Config config = parse(kMlp, all);
    const std::string shown = config_yaml(config, built_in());
    EXPECT_EQ(config_yaml(parse(shown), built_in()), shown);
    return config.data.keys.as<ImageFolderData>().images;
  };
  EXPECT_THAT(images({}).normalize_mean, ElementsAre(0));
  EXPECT_THAT(images({"data.normalize_mean=0.5"}).normalize_mean, ElementsAre(0.5));
  const ImageSettings given =
      images({"data.normalize_std=[0.25, 0.5, 1]", "data.interpolation=bicubic", "data.shift=3"});
  EXPECT_THAT(given.normalize_std, ElementsAre(0.25, 0.5, 1));
  EXPECT_EQ(given.augmentation.interpolation, Interpolation::kBicubic);
  EXPECT_EQ(given.augmentation.shift, 3);
  EXPECT_THAT(
      config_error(kMlp, {"data.type=image_folder", "data.path=x", "data.normalize_std=[0.5, 0]"}),
      HasSubstr("'data.normalize_std' must be a number or list of numbers > 0, but number 2 in it "
                "is '0'"));
}

TEST(ConfigLoad, OverridesReplaceTheFilesValuesAndTheLastOneWins) {
  const Config config =
      parse(kMlp, {"training.max_steps=20", "training.max_steps=30", "model.hidden_sizes=[3, 4]",
                   "optimizer.betas=[0.8,0.9]", "run.name=a: [b"});
  EXPECT_EQ(config.length.max_steps, 30);
  EXPECT_THAT(config.model.keys.as<MlpConfig>().hidden_sizes, ElementsAre(3, 4));
  EXPECT_EQ(config.optimizer.keys.as<AdamW>().betas[1], 0.9);
  EXPECT_EQ(config.run.name, "a: [b");  // strings are taken literally
}

TEST(ConfigLoad, OverridesAreValidatedLikeTheFileAndNamedByTheirText) {
  EXPECT_EQ(
      config_error(kMlp, {"training.max_steps=many", "optimizer.lr=1", "optimizr.learning_rate=1",
                          "training", "eval=3", "data.path=x", "model.hidden_sizes=[1,2"}),
      "command line: training.max_steps=many: 'training.max_steps' must be an integer >= -1, not "
      "'many'\n"
      "command line: optimizer.lr=1: unknown key 'optimizer.lr'; this is 'optimizer.learning_rate' "
      "here\n"
      "command line: optimizr.learning_rate=1: unknown key 'optimizr.learning_rate'; did you mean "
      "'optimizer.learning_rate'?\n"
      "command line: training: an override is written section.key=value\n"
      "command line: eval=3: 'eval' is a section; override its keys one by one, eval.key=value\n"
      "command line: model.hidden_sizes=[1,2: 'model.hidden_sizes' is not a list: [1,2\n"
      "command line: data.path=x: 'data.path' has no effect with 'data.type: synthetic'");
}

constexpr const char* kGpt =
    "model:\n  name: gpt2\n  vocab_size: 10\ndata:\n  type: synthetic\n"
    "training:\n  max_steps: 10\n  global_batch_size: 8\n  micro_batch_size: 4\n"
    "optimizer:\n  learning_rate: 0.1\n";

TEST(ConfigLoad, AKeyMayHaveOtherNames) {
  const auto model = [](const std::vector<std::string>& overrides) {
    return parse(kGpt, overrides).model.keys.as<Gpt2Config>();
  };
  EXPECT_EQ(model({"model.block_size=32"}).n_positions, 32);
  EXPECT_EQ(model({"model.max_position_embeddings=16", "model.block_size=16"}).n_positions, 16);
  const Gpt2Config dropped = model({"model.dropout=0.25"});  // one name of three keys
  EXPECT_THAT((std::array{dropped.embd_pdrop, dropped.attn_pdrop, dropped.resid_pdrop}),
              testing::Each(0.25));
  // What is shown has the key's own name, and says the same.
  const Config shown = parse(config_yaml(parse(kGpt, {"model.block_size=32"}), built_in()));
  EXPECT_EQ(shown.model.keys.as<Gpt2Config>().n_positions, 32);
}

TEST(ConfigLoad, MessagesHaveTheNameThatWasWritten) {
  EXPECT_EQ(
      config_error(kGpt, {"model.dropout=2"}),
      "command line: model.dropout=2: 'model.dropout' must be a number >= 0 and < 1, not '2'");
  EXPECT_EQ(config_error(kGpt, {"model.block_size=8", "data.sequence_length=9"}),
            "command line: data.sequence_length=9: 'data.sequence_length' 9 is longer than "
            "'model.block_size' 8");
  EXPECT_EQ(
      config_error(kMlp, {"model.dropout=0.5"}),
      "command line: model.dropout=0.5: 'model.dropout' has no effect with 'model.name: mlp'");
  EXPECT_EQ(config_error(kGpt, {"model.blok_size=8"}),
            "command line: model.blok_size=8: unknown key 'model.blok_size'; did you mean "
            "'block_size'?");
}

TEST(ConfigLoad, TwoNamesOfOneKeyDoNotGoTogether) {
  const std::string both =
      "model:\n  name: gpt2\n  vocab_size: 10\n  attn_pdrop: 0.1\n"
      "  dropout: 0.2\n" +
      std::string(kGpt).substr(std::string(kGpt).find("data:"));
  EXPECT_EQ(config_error(both),
            "run.yaml:5:3: 'model.dropout' is given as 'model.attn_pdrop', too, at "
            "run.yaml:4:3; keep one of them");
  EXPECT_EQ(parse(both.substr(0, both.find("  dropout")) + both.substr(both.find("data:")),
                  {"model.dropout=0.3"})
                .model.keys.as<Gpt2Config>()
                .attn_pdrop,
            0.3);
}

TEST(ConfigLoad, AKeyInASectionThatDoesNotExistIsLookedForInOthers) {
  const auto suggestion = [](const std::string& override) {
    const std::string text = config_error(kMlp, {override});
    const std::size_t at = text.find("; did you mean ");
    return at == std::string::npos ? "" : text.substr(at + 15);
  };
  EXPECT_EQ(suggestion("train.max_steps=5"), "'training.max_steps'?");
  EXPECT_EQ(suggestion("trainer.max_steps=5"), "'training.max_steps'?");
  EXPECT_EQ(suggestion("opt.betas=5"), "'optimizer.betas'?");
  EXPECT_EQ(suggestion("opt.dropout=5"), "'model.dropout'?");
  EXPECT_EQ(suggestion("loop.max_steps=5"), "'training.max_steps'?");
  EXPECT_EQ(suggestion("train.nonesuch=5"), "'training'?");
  EXPECT_EQ(suggestion("max_steps=5"), "'training.max_steps'?");
  EXPECT_EQ(suggestion("loop.nonesuch=5"), "");
}

TEST(ConfigLoad, TheListOfProblemsIsBounded) {
  std::string text = kMlp;
  for (int i = 0; i < 2000; ++i) text += fmt::format("  k{}: 1\n", i);
  const std::string listed = config_error(text);
  EXPECT_EQ(std::count(listed.begin(), listed.end(), '\n'), 30);
  EXPECT_THAT(listed,
              testing::EndsWith("run.yaml:40:3: unknown key 'optimizer.k29'\nand 1970 more"));
}

TEST(ConfigLoad, ALongValueIsShortened) {
  const std::string text = std::string(kMlp) + "  eps: \"" + std::string(60'000, 'x') + "\"\n";
  const std::string message = config_error(text);
  EXPECT_LT(message.size(), 600U);
  EXPECT_THAT(message, testing::StartsWith("run.yaml:11:3: 'optimizer.eps' must be a number > 0, "
                                           "not the string 'xxx"));
  EXPECT_THAT(message, HasSubstr("xxx [... 59"));
  std::string umlauts;
  for (int i = 0; i < 20'000; ++i) umlauts += "\u00fc";
  EXPECT_TRUE(is_utf8(config_error(kMlp, {"optimizer.eps=" + umlauts})));
  EXPECT_TRUE(is_utf8(config_error(kMlp, {"optimizer.eps=x" + umlauts})));
}

TEST(ConfigLoad, AWordForOnOrOffIsNoFolderOfCompiledSteps) {
  EXPECT_EQ(config_error(kMlp, {"device.compile_cache=none"}),
            "command line: device.compile_cache=none: 'device.compile_cache' must be a folder, "
            "auto or off, not 'none'; did you mean 'off'? A folder of that name is ./none");
  for (const std::string choice : {"off", "auto", "./none", "/tmp/no", "nonesuch"})
    EXPECT_EQ(parse(kMlp, {"device.compile_cache=" + choice}).device.compile_cache, choice);
}

TEST(ConfigLoad, AMicroBatchMayBeLeftToTheRun) {
  EXPECT_EQ(parse(kMlp, {"training.micro_batch_size=auto"}).batch.micro_batch_size,
            kAutoMicroBatch);
  EXPECT_EQ(config_error(kMlp, {"training.micro_batch_size=0"}),
            "command line: training.micro_batch_size=0: 'training.micro_batch_size' must be an "
            "integer >= 1, or auto, not '0'");
  EXPECT_EQ(config_error(kMlp, {"training.global_batch_size=auto"}),
            "command line: training.global_batch_size=auto: 'training.global_batch_size' must be "
            "an integer >= 1, not 'auto'");
}

TEST(ConfigLoad, AnOverrideCanMendARefusedValue) {
  const std::string broken = std::string(kMlp) + "  eps: none\n";
  EXPECT_THAT(config_error(broken), HasSubstr("run.yaml:11:3: 'optimizer.eps' must be"));
  // The file is still reported: it is wrong, whatever the command line says.
  EXPECT_THAT(config_error(broken, {"optimizer.eps=1e-8"}), HasSubstr("run.yaml:11:3:"));
}

TEST(ConfigLoad, ChoosingAnotherModelOnTheCommandLineDropsTheFilesKeysForTheOldOne) {
  const std::string text = std::string(kMlp) + "  betas: [0.8, 0.9]\n";
  const Config config = parse(text, {"optimizer.name=sgd", "optimizer.momentum=0.9"});
  EXPECT_EQ(config.optimizer.name, "sgd");
  EXPECT_EQ(config.optimizer.keys.as<Sgd>().momentum, 0.9);
  EXPECT_EQ(config_error(text, {"optimizer.momentum=0.9"}),
            "command line: optimizer.momentum=0.9: 'optimizer.momentum' has no effect with "
            "'optimizer.name: adamw'");
}

TEST(ConfigLoad, AnOverrideThatDoesNotFitTheFileIsToBlame) {
  EXPECT_EQ(config_error(kMlp, {"training.micro_batch_size=5"}),
            "command line: training.micro_batch_size=5: 'training.global_batch_size' 64 is not a "
            "multiple of micro_batch_size 5; nearest that work: global_batch_size 60 or 65, "
            "micro_batch_size 4 or 8");
}

TEST(ConfigLoad, WhereNamesTheKeyElseTheSectionElseTheFile) {
  const LoadedConfig loaded =
      parse_config(kMlp, "run.yaml", built_in(), std::vector<std::string>{"run.seed=3"});
  EXPECT_EQ(loaded.where("training.max_steps"), "run.yaml:6:3");
  EXPECT_EQ(loaded.where("training.max_epochs"), "run.yaml:5:1");
  EXPECT_EQ(loaded.where("eval.interval"), "run.yaml");
  EXPECT_EQ(loaded.where("run.seed"), "command line: run.seed=3");
}

TEST(ConfigLoad, WhatIsNotAFileIsNamed) {
  const auto message = [](const std::string& path) {
    return usage_error([&] { load_config(path, built_in()); });
  };
  EXPECT_EQ(message("no/such.yaml"),
            "no/such.yaml: no such file; name a YAML config such as configs/gpt_char.yaml");
  EXPECT_EQ(message("/"), "/: a folder; name a YAML config inside it");
  EXPECT_EQ(message("/dev/zero"), "/dev/zero: not a regular file");
  const std::string pipe =
      (fs::temp_directory_path() / fmt::format("lockstep_config_{}", getpid())).string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(message(pipe), pipe + ": not a regular file") << "nobody writes to it";
  fs::remove(pipe);
}

TEST(ConfigLoad, EveryShippedConfigLoadsOnOneAndTwoRanks) {
  int configs = 0;
  for (const auto& entry : fs::recursive_directory_iterator(LOCKSTEP_SOURCE_DIR "/configs")) {
    if (entry.path().extension() != ".yaml") continue;
    if (entry.path().parent_path().filename() == "devices") continue;  // profiles, not configs
    SCOPED_TRACE(entry.path());
    const LoadedConfig loaded = load_config(entry.path().string(), built_in());
    EXPECT_EQ(plan_batch(loaded, 2).micro_batches_per_rank,
              plan_batch(loaded, 1).micro_batches_per_rank / 2);
    ++configs;
  }
  EXPECT_GE(configs, 8);
}

// Mutations: whatever the bytes, the answer is a config or an Error, never anything else.
TEST(ConfigLoad, NoBytesCrashTheParser) {
  const std::string seeds[] = {
      kMlp,
      "a: [1, {b: 'c', ? d}, \"e\\x41\"]\n- x\n? |\n  block\n: >-\n  folded\n",
      "%YAML 1.2\n---\n&a !!str b: *a\n...\n",
      std::string(200, '[') + std::string(200, '{') + "- - - -: : :",
  };
  constexpr const char* kPieces[] = {"\n",   ": ",    "- ",    "[",  "]",  "{",  "}",  "'",
                                     "\"",   "|\n",   "&a",    "*a", "!",  "? ", "#",  "<<",
                                     "\t",   "---\n", "%",     ",",  "  ", "\\", "\r", "\x80",
                                     "\xEF", "\0",    "...\n", "@",  "`",  ">"};
  const Registry registry = built_in();
  std::mt19937 random(1);  // fixed: a failure must come back
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (int round = 0; round < 5000; ++round) {
    std::string text = seeds[below(std::size(seeds))];
    for (std::size_t edits = 1 + below(12); edits > 0; --edits) {
      const std::size_t at = below(text.size() + 1);
      switch (below(4)) {
        case 0: text.insert(at, kPieces[below(std::size(kPieces))]); break;
        case 1: text.erase(at, below(6)); break;
        case 2: text.insert(at, text.substr(below(text.size() + 1), below(40))); break;
        default: text.insert(at, 1, static_cast<char>(below(256)));
      }
    }
    try {
      parse_config(text, "fuzz.yaml", registry);
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::kUsage) << error.what() << "\n" << text;
      ASSERT_THAT(error.what(), testing::StartsWith("fuzz.yaml:"));
    }
  }
}

TEST(ConfigLoad, GroupsArePatternsWithSettings) {
  const std::string text = R"([{match: ["*.bias", "*.ln_*"], weight_decay: 0, betas: [0.8, 0.9]}, )"
                           R"({match: lm_head, learning_rate: 1e-3}])";
  const Config config = parse(kMlp, {"optimizer.groups=" + text});
  const ParameterGroup vectors{{"*.bias", "*.ln_*"},
                               {{"weight_decay", "0"}, {"betas", "[0.8, 0.9]"}}};
  const ParameterGroup head{{"lm_head"}, {{"learning_rate", "1e-3"}}};
  EXPECT_THAT(config.optimizer.groups, ElementsAre(vectors, head));
  EXPECT_THAT(config_yaml(config, built_in()), HasSubstr("  groups: " + text + "\n"));
}

TEST(ConfigLoad, LengthsAreRangesWithProbabilities) {
  const auto lengths = [](const std::vector<std::string>& overrides) {
    return parse(kMlp, overrides).data.keys.as<SyntheticData>().lengths;
  };
  EXPECT_THAT(lengths({}), ElementsAre(LengthShare{5, 32, 0.9}, LengthShare{33, 64, 0.09},
                                       LengthShare{65, 256, 0.01}));
  EXPECT_THAT(lengths({"data.lengths=[[1, 2, 0.25], [4, 4, 0.75]]"}),
              ElementsAre(LengthShare{1, 2, 0.25}, LengthShare{4, 4, 0.75}));
  EXPECT_EQ(config_error(kMlp, {"data.lengths=[[1, 2, 0.25], [4, x, 0.75]]"}),
            "command line: data.lengths=[[1, 2, 0.25], [4, x, 0.75]]: 'data.lengths' must be a "
            "list of [minimum, maximum, probability], with lengths >= 1, but entry 2 in it is [4, "
            "x, 0.75]");
  EXPECT_THAT(config_yaml(parse(kMlp, {"data.lengths=[[1, 2, 0.25], [4, 4, 0.75]]"}), built_in()),
              HasSubstr("lengths: [[1, 2, 0.25], [4, 4, 0.75]]"));
}

}  // namespace
}  // namespace lockstep
