#include "trainer/apps/predict.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "collectives/single.h"
#include "core/base/error.h"
#include "data/eval_loader.h"
#include "data/files/printable.h"
#include "data/images/image_folder.h"
#include "trainer/apps/restored_model.h"
#include "trainer/datasets/image_settings.h"
#include "trainer/job/rank_runtime.h"
#include "trainer/registry/registry.h"
#include "trainer/run/saved_facts.h"
#include "trainer/run/saved_run.h"
#include "trainer/train/training_step.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMaxBatchSize = 16;

/// The images, resized and normalized as in the run's evaluation.
DatasetPtr open_images(const Config& config, const Registry& registry, const SampleFacts& facts,
                       const std::vector<std::string>& paths) {
  const ImageSettings& settings = *registry.at(config.data).part<ImageSettings>(config.data.keys);
  const auto& [channels, height, width] = facts.shape;
  return std::make_shared<ImageDataset>(
      std::make_shared<ImageFiles>(paths, settings.limits()),
      for_evaluation(
          settings.options({channels, height, width}, registry.needs(config.model).n_classes)));
}

/// "cat 0.9312, dog 0.0571": the likeliest classes of one row of logits.
std::string likeliest(std::span<const double> logits, std::int64_t top,
                      const std::vector<std::string>& names) {
  const double largest = *std::ranges::max_element(logits);
  double total = 0;
  for (const double logit : logits) total += std::exp(logit - largest);
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return logits[i]; });
  order.resize(std::min(order.size(), static_cast<std::size_t>(top)));
  std::string out;
  for (const std::size_t i : order)
    out += fmt::format("{}{} {:.4f}", out.empty() ? "" : ", ",
                       i < names.size() ? printable(names[i]) : std::to_string(i),
                       std::exp(logits[i] - largest) / total);
  return out;
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

void print_classes(const EvalBatch& batch, const HostTensor& logits, const Dataset& images,
                   std::int64_t first, std::int64_t top, const SampleFacts& facts) {
  const std::vector<double> all = to_doubles(logits);
  const std::vector<double> mask = to_doubles(batch.batch.at("mask"));
  const std::size_t classes = all.size() / mask.size();
  for (std::size_t row = 0; row < mask.size() && mask[row] != 0; ++row)
    fmt::print("{}: {}\n", images.source(first + static_cast<std::int64_t>(row)),
               likeliest(std::span(all).subspan(row * classes, classes), top, facts.classes));
}

/// The image facts of the run's data; if the checkpoint does not have them, those of its config.
SampleFacts image_facts(const SavedFacts& saved, const Registry& registry, const std::string& run,
                       const std::string& checkpoint) {
  const Config& config = saved.config;
  const DataNeeds needs = registry.needs(config.model);
  const DatasetRow& data = registry.at(config.data);
  const auto* settings = data.part<ImageSettings>(config.data.keys);
  LS_USER_CHECK(needs.inputs == "images" && settings != nullptr,
                "{} was trained on {} data, model '{}': it cannot predict classes of images", run,
                data.name, config.model.name);
  if (saved.samples) return *saved.samples;
  const auto& [channels, height, width] = needs.image;
  const auto size = settings->size().value_or(std::array{height, width});
  LS_USER_CHECK(size[0] > 1,
                "{} does not hold the size of its images, because an earlier version of lockstep "
                "saved it; resume the run for one step to save it",
                checkpoint);
  return {.shape = {channels, size[0], size[1]}};
}

}  // namespace

int predict(const std::string& run, const Registry& registry, const PredictOptions& options,
            const Settings& settings, Watch& watch) {
  const Activity activity = watch.activity();
  activity.begin(Phase::kPrepare);
  const SavedRun from(run);
  watch.set_limits(watch_limits(from.config_file(registry)));
  std::unique_ptr<Communicator> alone = make_single_communicator();
  const SharedCheckpoint saved = from.share_checkpoint(*alone, activity);
  const SavedFacts described = facts_of(saved, registry);
  const Config& config = described.config;
  const SampleFacts facts = image_facts(described, registry, run, saved.path());
  check_channels_of_files(facts.shape[0], run);
  const DatasetPtr images = open_images(config, registry, facts, options.images);

  RankRuntime runtime(config, settings, std::move(alone), watch);
  const RestoredModel restored(config, registry, 0, runtime, saved);
  activity.begin(Phase::kEvaluate);
  const std::int64_t batch_size = std::min(images->size(), kMaxBatchSize);
  EvalLoader loader(images, {.batch_size = batch_size,
                             .workers = static_cast<int>(config.data.loader_workers),
                             .activity = activity});
  while (loader.has_next()) {
    const EvalBatch batch = loader.next();
    const HostTensor logits =
        logits_of(runtime.engine(), *restored.model, restored.state.compute_dtype, batch.batch);
    print_classes(batch, logits, *images, batch.index * batch_size, options.top, facts);
    activity.progress();
  }
  return 0;
}

}  // namespace lockstep
