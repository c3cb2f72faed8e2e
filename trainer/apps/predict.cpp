#include "trainer/apps/predict.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "collectives/single.h"
#include "core/base/error.h"
#include "data/eval_loader.h"
#include "data/files/utf8.h"
#include "data/images/image_folder.h"
#include "trainer/apps/likeliest.h"
#include "trainer/apps/named_images.h"
#include "trainer/apps/predict_texts.h"
#include "trainer/apps/used_model.h"
#include "trainer/datasets/document_files.h"
#include "trainer/datasets/image_settings.h"
#include "trainer/job/rank_runtime.h"
#include "trainer/registry/registry.h"
#include "trainer/run/saved_run.h"
#include "trainer/train/training_step.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMaxBatchSize = 16;

/// The images, resized and normalized as in the run's evaluation; those that cannot be read are
/// skipped.
DatasetPtr open_images(const Config& config, const Registry& registry, const SampleFacts& facts,
                       const std::vector<std::string>& paths) {
  const ImageSettings& settings = *registry.at(config.data).part<ImageSettings>(config.data.keys);
  const auto& [channels, height, width] = facts.shape;
  ImageOptions options = for_evaluation(
      settings.options({channels, height, width}, registry.needs(config.model).n_classes));
  options.on_bad_sample = OnBadSample::kSkip;
  return std::make_shared<ImageDataset>(std::make_shared<ImageFiles>(paths, settings.limits()),
                                        options);
}

/// Logits of one batch: [batch, classes].
HostTensor logits_of(Engine& engine, const Model& model, DType compute_dtype, HostBatch batch) {
  Batch::Fields fields;
  for (auto& [name, value] : batch)
    fields[name] = engine.to_device({std::move(value)}, InputKind::kBatch, "predict." + name);
  const Loss loss = record_evaluation(std::cref(model), Batch(std::move(fields)), compute_dtype);
  const auto found = loss.outputs.find("logits");
  LS_USER_CHECK(found != loss.outputs.end(),
                "the model does not return the logits of classes among its outputs "
                "(classification_loss() in trainer/task/model.h does)");
  const Tensor logits = found->second;
  return logits.to_host();
}

void print_image_classes(const EvalBatch& batch, const HostTensor& logits, const Dataset& images,
                         std::int64_t first, const PredictOptions& options,
                         const SampleFacts& facts) {
  const std::vector<double> all = to_doubles(logits);
  const std::vector<double> mask = to_doubles(batch.batch.at("mask"));
  const std::size_t classes = all.size() / mask.size();
  for (std::size_t row = 0; row < mask.size(); ++row) {
    if (mask[row] == 0) continue;  // it could not be read, or is behind the last one
    const std::string file = images.source(first + static_cast<std::int64_t>(row));
    const std::vector<ScoredClass> found =
        likeliest(std::span(all).subspan(row * classes, classes), options.top, classes);
    if (!options.json) {
      fmt::print("{}: {}\n", file, likeliest_text(found, facts.classes));
      continue;
    }
    nlohmann::ordered_json line{{"file", valid_utf8(file)}};
    line["predictions"] = nlohmann::ordered_json::array();
    for (const auto& [number, probability] : found)
      line["predictions"].push_back(
          {{"label", valid_utf8(class_name(number, facts.classes))}, {"score", probability}});
    fmt::print("{}\n", line.dump());
  }
}

/// The image facts of the run's data; if the checkpoint does not have them, those of its config.
SampleFacts image_facts(const SavedFacts& saved, const Registry& registry, const std::string& run,
                        const std::string& checkpoint) {
  const Config& config = saved.config;
  const DataNeeds needs = registry.needs(config.model);
  const DatasetRow& data = registry.at(config.data);
  const auto* settings = data.part<ImageSettings>(config.data.keys);
  LS_USER_CHECK(needs.inputs == "images" && settings != nullptr,
                "{} was trained on {} data, model '{}': it cannot predict classes of images{}", run,
                data.name, config.model.name,
                needs.inputs == "captioned_images" ? "; generate captions them" : "");
  if (saved.samples) return *saved.samples;
  const auto& [channels, height, width] = needs.image;
  const auto size = settings->size().value_or(std::array{height, width});
  LS_USER_CHECK(size[0] > 1,
                "{} does not hold the size of its images, because an earlier version of lockstep "
                "saved it; resume the run for one step to save it",
                checkpoint);
  return {.shape = {channels, size[0], size[1]}};
}

std::string given_or(const std::optional<std::string>& given, const SavedFacts& saved,
                     std::string JsonlData::*member) {
  if (given) return *given;
  const DataConfig& data = saved.config.data;
  const bool is_jsonl = data.type == JsonlData::kName && !data.keys.empty();
  return (is_jsonl ? data.keys.as<JsonlData>() : JsonlData{}).*member;
}

TextQuestion question_of(const DataNeeds& needs, const PredictOptions& options,
                         const std::string& run) {
  LS_USER_CHECK(!options.fill_mask || !options.perplexity,
                "--fill-mask and --perplexity are two questions: ask one at a time");
  const auto need = [&](std::string_view inputs, std::string_view what) {
    LS_USER_CHECK(needs.inputs == inputs, "{}: its model takes {}, and so {}", run,
                  needs.inputs.empty() ? "other inputs" : needs.inputs, what);
  };
  if (options.fill_mask) {
    need("masked_tokens", "cannot fill masks");
    return TextQuestion::kMasks;
  }
  if (options.perplexity) {
    need("tokens", "has no perplexity of texts (models that continue texts have)");
    return TextQuestion::kPerplexity;
  }
  const bool other = needs.inputs == "masked_tokens" || needs.inputs == "tokens";
  LS_USER_CHECK(!other, "{}: its model has no classes: ask with {}", run,
                needs.inputs == "tokens" ? "--perplexity" : "--fill-mask");
  need("labelled_tokens", "cannot predict classes of texts");
  return TextQuestion::kClasses;
}

TextRequest request_of(const SavedFacts& saved, const DataNeeds& needs,
                       const PredictOptions& options, const std::string& run) {
  TextRequest out{.question = question_of(needs, options, run),
                  .text = options.text,
                  .text_pair = options.text_pair,
                  .file = options.file,
                  .text_field = given_or(options.text_field, saved, &JsonlData::text_field),
                  .top = options.top,
                  .json = options.json,
                  .stride = options.stride};
  if (out.question == TextQuestion::kClasses)
    out.pair_field = given_or(options.pair_field, saved, &JsonlData::text_pair_field);
  LS_USER_CHECK(out.pair_field.empty() || !options.text || options.text_pair,
                "{} classifies pairs of texts: give --text-pair, too", run);
  LS_USER_CHECK(out.question == TextQuestion::kClasses || !options.text_pair,
                "--text-pair is for models that classify pairs of texts");
  LS_USER_CHECK(!options.stride || out.question == TextQuestion::kPerplexity,
                "--stride has no effect without --perplexity");
  return out;
}

/// Exactly one kind of input.
void check_predict_inputs(const PredictOptions& options) {
  const bool texts = options.text || options.file;
  const bool images = options.folder || !options.images.empty();
  LS_USER_CHECK(texts || images,
                "nothing to predict: give images, or --folder FOLDER of images, or --text TEXT, or "
                "--file FILE.jsonl");
  LS_USER_CHECK(!texts || !images, "images and texts exclude each other");
  LS_USER_CHECK(!options.text || !options.file, "--text and --file exclude each other");
  LS_USER_CHECK(!options.text_pair || options.text, "--text-pair is the second text beside --text");
  LS_USER_CHECK(options.file || (!options.text_field && !options.pair_field),
                "--text-field and --text-pair-field are of --file");
  LS_USER_CHECK(texts || (!options.fill_mask && !options.perplexity && !options.stride),
                "--fill-mask, --perplexity and --stride are for texts: give --text or --file");
}

/// Of a run on images.
void predict_images(RankRuntime& runtime, const RestoredModel& restored, const Registry& registry,
                    const Config& config, const SampleFacts& facts,
                    const std::vector<std::string>& paths, const PredictOptions& options) {
  const Activity activity = runtime.activity();
  const DatasetPtr images = open_images(config, registry, facts, paths);
  const std::int64_t batch_size = std::min(images->size(), kMaxBatchSize);
  EvalLoader loader(images, {.batch_size = batch_size,
                             .workers = static_cast<int>(config.data.loader_workers),
                             .activity = activity});
  UnreadImages unread;
  while (loader.has_next()) {
    const EvalBatch batch = loader.next();
    const HostTensor logits =
        logits_of(runtime.engine(), *restored.model, restored.state.compute_dtype, batch.batch);
    print_image_classes(batch, logits, *images, batch.index * batch_size, options, facts);
    std::fflush(stdout);
    for (const std::string& reason : batch.skipped) unread.add(reason);
    activity.progress();
  }
  unread.finish(images->size());
}

}  // namespace

int predict(const std::string& run, const Registry& registry, const PredictOptions& options,
            const Settings& settings, Watch& watch) {
  check_predict_inputs(options);
  const std::vector<std::string> images = named_images(options.images, options.folder);
  const Activity activity = watch.activity();
  activity.begin(Phase::kPrepare);
  watch.set_limits(watch_limits(SavedRun(run).config_file(registry)));
  std::unique_ptr<Communicator> alone = make_single_communicator();
  const UsedModel used = UsedModel::open(run, registry, *alone, activity);
  const SavedFacts& described = used.facts;
  const Config& config = described.config;
  if (!images.empty()) {
    LS_USER_CHECK(
        used.checkpoint.has_value(),
        "{} does not say how its images are made to fit (data.resize, data.interpolation, "
        "data.normalize_mean and so on): predict with a run, which "
        "'model.from_pretrained: {}' and 'training.max_steps: 0' make of it",
        run, run);
    const SampleFacts facts = image_facts(described, registry, run, used.path);
    check_channels_of_files(facts.shape[0], run);
    RankRuntime runtime(config, settings, std::move(alone), watch);
    const RestoredModel restored = used.restore(registry, 0, runtime, weights_of(options.ema));
    activity.begin(Phase::kEvaluate);
    predict_images(runtime, restored, registry, config, facts, images, options);
    return 0;
  }
  DataNeeds needs = registry.needs(config.model);
  const TextRequest request = request_of(described, needs, options, run);
  if (request.question == TextQuestion::kClasses && config.data.sequence_length > 0)
    needs.sequence_length = config.data.sequence_length;  // cut where evaluations cut
  LS_USER_CHECK(described.tokenizer != nullptr, "{} {}: it takes no texts", run,
                used.checkpoint ? "was trained without a tokenizer" : "has no tokenizer.json");
  RankRuntime runtime(config, settings, std::move(alone), watch);
  const RestoredModel restored =
      used.restore(registry, described.tokenizer->vocab_size(), runtime, weights_of(options.ema));
  activity.begin(Phase::kEvaluate);
  predict_texts({.engine = runtime.engine(),
                 .model = *restored.model,
                 .compute_dtype = restored.state.compute_dtype,
                 .tokenizer = *described.tokenizer,
                 .needs = needs,
                 .classes = text_classes(described, needs),
                 .activity = activity},
                request);
  return 0;
}

}  // namespace lockstep
