// A program's own models, datasets and optimizers, as the config sees them.
#include "trainer/registry/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/fixtures/error_of.h"
#include "trainer/config/group_values.h"
#include "trainer/config/load.h"
#include "trainer/config/schema.h"
#include "trainer/config/show.h"
#include "trainer/datasets/idx_data.h"
#include "trainer/models/gpt2/gpt2.h"
#include "trainer/models/vision/vision.h"
#include "trainer/optimizers/adamw.h"
#include "trainer/registry/open_data.h"
#include "trainer/run/saved_texts.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;
using testing::StartsWith;

/// Of the names of its keys gpt2 has `dropout` of the same type with another meaning, and
/// `n_layer` of another type.
struct CurveModel final : Model {
  static constexpr std::string_view kName = "curve";
  static constexpr std::string_view kDoc = "a curve through points";
  struct Config {
    std::int64_t width = 16;
    double dropout = 0.25;
    std::string n_layer = "few";

    static std::vector<Key> keys() {
      return {{.name = "width",
               .member = bind<&Config::width>(),
               .range = at_least(1),
               .doc = "Hidden units."},
              {.name = "dropout",
               .member = bind<&Config::dropout>(),
               .range = fraction(),
               .doc = "Share of points left out."},
              {.name = "n_layer", .member = bind<&Config::n_layer>(), .doc = "How many layers."}};
    }
    DataNeeds needs() const { return {.inputs = "points"}; }
    void check(const lockstep::Config& run, const ReportProblem& report) const {
      if (width > run.batch.global_batch_size)
        report({"model.width", "training.global_batch_size", "model.name"},
               "'model.width' is more than there are points");
    }
  };

  explicit CurveModel(const Config& config) {
    parameter("w", Shape{config.width}, ParameterKind::kVector, Initializer::normal(1));
  }
  Loss operator()(const Batch&) const override { return {}; }
};

struct PointsData {
  static constexpr std::string_view kName = "points";
  static constexpr std::string_view kDoc = "points of a curve";
  static constexpr std::string_view kGives = "points pairs";

  std::string path;
  std::int64_t seen = 0;

  static std::vector<Key> keys() {
    return {{.name = "path",
             .member = bind<&PointsData::path>(),
             .doc = "File of points.",
             .required = true,
             .file = true}};
  }
  DataSource open(const OpenContext&) const { return {.train = nullptr, .vocab_size = 7}; }
};

Registry with_curves() {
  Registry out = built_in();
  out.add_model<CurveModel>();
  out.add_dataset<PointsData>();
  return out;
}

const std::string kCurve = R"(model:
  name: curve
  width: 4
data:
  type: points
  path: a.csv
training: {max_steps: 1, global_batch_size: 8, micro_batch_size: 8}
optimizer: {learning_rate: 0.1}
)";

const std::string kMlpOfDigits = R"(model: {name: mlp}
data: {type: synthetic}
training: {max_steps: 1, global_batch_size: 8, micro_batch_size: 8}
optimizer: {learning_rate: 0.1}
)";

LoadedConfig config_with(const Registry& registry, const std::vector<std::string>& overrides = {},
                         const std::string& text = kCurve) {
  return parse_config(text, "run.yaml", registry, overrides);
}

std::string registry_error(const std::vector<std::string>& overrides,
                           const std::string& text = kCurve) {
  return error_of([&] { config_with(with_curves(), overrides, text); });
}

TEST(Registry, GivesAnOwnModelAndDatasetTheirOwnKeys) {
  const Registry registry = with_curves();
  const Config config = config_with(registry, {"model.dropout=0.5", "model.n_layer=many"}).config;
  const auto& model = config.model.keys.as<CurveModel::Config>();
  EXPECT_EQ(model.width, 4);
  EXPECT_EQ(model.dropout, 0.5);
  EXPECT_EQ(model.n_layer, "many");
  EXPECT_EQ(config.data.keys.as<PointsData>().path, "a.csv");
  EXPECT_EQ(registry.make_model(config.model, {})->parameters().elements(), 4);
  EXPECT_EQ(open_data(config, registry).vocab_size, 7);
  EXPECT_EQ(registry.make_optimizer(config.optimizer).learning_rate(), 0.1);
}

TEST(Registry, KeysOfOneNameAreEachRowsOwn) {
  EXPECT_EQ(registry_error({"model.width=0"}),
            "2: command line: model.width=0: 'model.width' must be an integer >= 1, not '0'");
  EXPECT_THAT(registry_error({"model.dropout=1"}),
              HasSubstr("'model.dropout' must be a number >= 0 and"));
  EXPECT_THAT(registry_error({"model.n_head=1"}),
              HasSubstr("'model.n_head' has no effect with 'model.name: curve'"));
  EXPECT_THAT(registry_error({"model.widht=1"}), HasSubstr("did you mean 'width'?"));
  EXPECT_THAT(registry_error({"tokenizer.type=char"}),
              HasSubstr("'tokenizer.type' has no effect with 'model.name: curve'"));
  const Config mlp = config_with(with_curves(), {"model.name=mlp", "data.type=synthetic"}).config;
  EXPECT_EQ(mlp.model.keys.as<Mlp::Config>().n_classes, 10) << "the file's own keys are dropped";
}

TEST(Registry, AModelChecksItsOwnRulesAndItsData) {
  EXPECT_THAT(registry_error({"model.width=9"}),
              HasSubstr("'model.width' is more than there are points"));
  EXPECT_THAT(registry_error({"data.type=synthetic"}),
              HasSubstr("model 'curve' cannot train on synthetic data; it takes points"));
  EXPECT_THAT(registry_error({"model.name=mlp"}),
              HasSubstr("model 'mlp' cannot train on points data; it takes image_folder, cifar, "
                        "idx, hdf5 or synthetic"));
  EXPECT_THAT(registry_error({"model.name=curv"}),
              HasSubstr("must be one of mlp, lenet, resnet, vit, gpt2, llama, bert, "
                        "bert_classifier, vit_gpt2, curve, not 'curv'; did you mean"));
}

/// The names of the parameters that are trained, by their groups.
std::map<std::string, std::vector<std::string>> trained_by_group(Module& module) {
  std::map<std::string, std::vector<std::string>> out;
  for (const Parameter* parameter : module.parameters().trained())
    out[parameter->group].push_back(parameter->name);
  return out;
}

TEST(Registry, PutsParametersIntoTheFirstGroupThatMatches) {
  const Registry registry = built_in();
  const Config config = config_with(registry,
                                    {"model.hidden_sizes=[4, 4]", "model.freeze=layers.[1-9].bias",
                                     "optimizer.groups=[{match: \"*.bias\", "
                                     "learning_rate: 0.5}, {match: [\"*.0.*\", "
                                     "layers.2.weight], weight_decay: 0.25}]"},
                                    kMlpOfDigits)
                            .config;
  const std::unique_ptr<Model> model = registry.make_model(config.model, {});
  const OptimizerGroups groups = make_groups(config, registry, *model);
  EXPECT_THAT(
      trained_by_group(*model),
      ElementsAre(Pair("", ElementsAre("layers.1.weight")),
                  Pair("*.0.*, layers.2.weight", ElementsAre("layers.0.weight", "layers.2.weight")),
                  Pair("*.bias", ElementsAre("layers.0.bias"))));
  EXPECT_EQ(groups.at("*.bias").learning_rate(), 0.5);
  EXPECT_EQ(groups.at("*.0.*, layers.2.weight").learning_rate(), 0.1) << "the others' settings";
}

TEST(Registry, RefusesAGroupWithoutParameters) {
  const Registry registry = built_in();
  const auto refusal = [&](const std::string& groups, const std::string& frozen = "[]") {
    const Config config = config_with(registry,
                                      {"model.hidden_sizes=[4, 4]", "model.freeze=" + frozen,
                                       "optimizer.groups=" + groups},
                                      kMlpOfDigits)
                              .config;
    const std::unique_ptr<Model> model = registry.make_model(config.model, {});
    return error_of([&] { make_groups(config, registry, *model); });
  };
  EXPECT_EQ(refusal("[{match: \"*.biass\", weight_decay: 0}]"),
            "2: 'optimizer.groups': no parameter of the model matches '*.biass'; the nearest are "
            "'layers.0.bias', 'layers.1.bias' and 'layers.2.bias'");
  const std::string left =
      "2: 'optimizer.groups': no trained parameter is left for '*.bias': the "
      "groups before it have all that match, or they are frozen";
  EXPECT_EQ(refusal("[{match: \"*.bias\", weight_decay: 0}]", "*.bias"), left);
  EXPECT_EQ(refusal("[{match: \"*\", weight_decay: 0}, {match: \"*.bias\", weight_decay: 0}]"),
            left);
}

TEST(Registry, AShownConfigLoadsAgainWithTheProgramThatHasTheModelOnly) {
  const Registry registry = with_curves();
  const Config config = config_with(registry).config;
  const std::string yaml = config_yaml(config, registry);
  EXPECT_THAT(
      yaml,
      StartsWith("run:\n  dir: runs\n  name: run\n  seed: 1337\nmodel:\n  name: curve\n"
                 "  width: 4\n  dropout: 0.25\n  n_layer: few\n  freeze: []\n  init_from: \"\"\n"
                 "  strict: true\n  grow_positions: none\ndata:\n  type: points\n"
                 "  path: a.csv\n  shuffle: true\n"));
  EXPECT_THAT(config_diff(config, saved_config(yaml, "a.h5", registry), registry), ElementsAre());
  EXPECT_EQ(
      error_of([&] { saved_config(yaml, "a.h5", built_in()); }),
      "4: a.h5: was saved by a program with the model 'curve', which this one does not have "
      "(it has mlp, lenet, resnet, vit, gpt2, llama, bert, bert_classifier, vit_gpt2); use that "
      "program, or register the model (Registry::add_model)");
}

TEST(Registry, TheSchemaHasEachKeyOfAPathWithItsRows) {
  const std::string text = config_schema_text(with_curves());
  EXPECT_THAT(text,
              HasSubstr("model.dropout: number >= 0 and < 1, default 0.25\n    Share of points "
                        "left out. Only with model.name: curve.\n"));
  EXPECT_THAT(text,
              HasSubstr("residual stream. Also written dropout. Only with model.name: gpt2.\n"));
  EXPECT_THAT(text, HasSubstr("Number of classes. Only with model.name: mlp or lenet.\n"));
  EXPECT_THAT(text, HasSubstr("optimizer.learning_rate: number >= 0, required\n    Peak learning "
                              "rate.\n"));
  EXPECT_THAT(text, HasSubstr("which caption images), curve (a curve"));
  const auto json = nlohmann::json::parse(config_schema_json(with_curves()));
  const auto& layers = json["properties"]["model"]["properties"]["n_layer"]["anyOf"];
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_EQ(layers[0]["type"], "integer");
  EXPECT_EQ(layers[1]["x-only-with"], nlohmann::json({{"model.name", {"curve"}}}));
}

TEST(Registry, FindsAPartOfADatasetsSettingsByItsType) {
  const Registry registry = with_curves();
  OwnConfig own(IdxData{});
  own.as<IdxData>().images.augmentation.shift = 3;
  const DataConfig idx{.type = "idx", .keys = own};
  const auto* images = registry.at(idx).part<ImageSettings>(idx.keys);
  ASSERT_NE(images, nullptr);
  EXPECT_EQ(images->augmentation.shift, 3);
  EXPECT_EQ(registry.at(idx).part<std::string>(idx.keys), nullptr);
  const DataConfig curves{.type = "points", .keys = OwnConfig(PointsData{})};
  EXPECT_EQ(registry.at(curves).part<ImageSettings>(curves.keys), nullptr);
}

TEST(Registry, RefusesTwoOfAName) {
  Registry registry = built_in();
  EXPECT_EQ(error_of([&] { registry.add_model<Gpt2>(); }), "2: model 'gpt2' is registered twice");
  EXPECT_EQ(error_of([&] { registry.add_optimizer<AdamW>(); }),
            "2: optimizer 'adamw' is registered twice");
  EXPECT_EQ(error_of([&] {
              built_in().make_model({"gtp2", {}}, {});
            }),
            "2: no model 'gtp2' is registered, only mlp, lenet, resnet, vit, gpt2, llama, bert, "
            "bert_classifier, vit_gpt2; did you mean 'gpt2'?");
}

struct Shuffled : PointsData {
  static std::vector<Key> keys() {
    return {{.name = "shuffle", .member = bind<&PointsData::seen>(), .doc = "Taken."}};
  }
};

TEST(Registry, RefusesAKeyThatTheSectionHasForAll) {
  Registry registry = built_in();
  registry.add_dataset<Shuffled>();
  EXPECT_EQ(error_of([&] { const Schema schema(registry); }),
            "2: dataset 'points' has a key 'shuffle', which section 'data' has for all: choose "
            "another name");
}

TEST(OwnConfig, IsAValueThatKnowsItsType) {
  OwnConfig a(PointsData{.path = "a", .seen = 1});
  OwnConfig b = a;
  b.as<PointsData>().path = "b";
  EXPECT_EQ(a.as<PointsData>().path, "a");
  EXPECT_THAT(error_of([&] { a.as<AdamW>(); }), HasSubstr("AdamW"));
  EXPECT_TRUE(OwnConfig().empty());
}

}  // namespace
}  // namespace lockstep
