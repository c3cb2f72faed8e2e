#include "trainer/apps/generate.h"

#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>

#include "collectives/single.h"
#include "core/base/error.h"
#include "data/files/utf8.h"
#include "data/images/image_dataset.h"
#include "data/images/image_folder.h"
#include "data/tokenizers/tokenizer.h"
#include "trainer/apps/captioner.h"
#include "trainer/apps/named_images.h"
#include "trainer/apps/sample_texts.h"
#include "trainer/apps/used_model.h"
#include "trainer/datasets/image_settings.h"
#include "trainer/job/rank_runtime.h"
#include "trainer/registry/registry.h"
#include "trainer/run/saved_run.h"

namespace lockstep {
namespace {

void print_numbered(std::span<const std::string> texts) {
  for (std::size_t i = 0; i < texts.size(); ++i)
    fmt::print("--- sample {} of {}\n{}\n", i + 1, texts.size(), texts[i]);
}

/// One sample appears as it grows, several one after the other at the end.
void print_texts(const TextSampler& sampler, const SampleConfig& sample) {
  const bool one = sample.num_samples == 1 && sample.num_beams == 1;
  SampledTexts found = sampler.texts(one ? [](const std::string& more) {
    fmt::print("{}", more);
    std::fflush(stdout);
  } : std::function<void(const std::string&)>());
  if (one) {
    fmt::print("\n");
  } else if (found.texts.size() > 1) {
    print_numbered(found.texts);
  } else {
    fmt::print("{}\n", found.texts[0]);
  }
  if (found.full_after)
    fmt::print(
        stderr,
        "lockstep: warning: the model's context is full after {} of {} new tokens, where beam "
        "search ends\n",
        *found.full_after, sample.max_new_tokens);
}

/// The images, resized and scaled as in the run's evaluation; those that cannot be read are
/// skipped.
ImageDataset images_like(const Config& config, const Registry& registry, const SavedFacts& facts,
                         const std::vector<std::string>& paths) {
  const auto* own = registry.at(config.data).part<ImageSettings>(config.data.keys);
  const ImageSettings settings = own != nullptr ? *own : ImageSettings{.of_any_size = true};
  const auto& [channels, height, width] =
      facts.samples ? facts.samples->shape : registry.needs(config.model).image;
  constexpr std::int64_t kOneClass = 1;  // files have none; all get label 0
  ImageOptions options = for_evaluation(settings.options({channels, height, width}, kOneClass));
  options.on_bad_sample = OnBadSample::kSkip;
  return {std::make_shared<ImageFiles>(paths, settings.limits()), options};
}

/// "FILE: caption" for each sample, or all of an image in one object.
void print_captions_of(const std::string& file, const std::vector<std::string>& captions,
                       bool json) {
  if (json) {
    const nlohmann::ordered_json line{{"file", valid_utf8(file)}, {"captions", captions}};
    fmt::print("{}\n", line.dump());
  } else {
    for (const std::string& text : captions) fmt::print("{}: {}\n", file, text);
  }
}

void print_captions(const Captioner& captioner, const ImageDataset& images, bool json,
                    Activity activity) {
  constexpr std::int64_t kMaxImages = 16;
  const std::int64_t batch = std::min(images.size(), kMaxImages);
  UnreadImages unread;
  for (std::int64_t first = 0; first < images.size(); first += batch) {
    const ImageBatch read = image_batch(images, first, batch);
    const auto found = captioner.captions(read.fields, first);
    for (std::int64_t i = 0; i < batch && first + i < images.size(); ++i) {
      const auto row = static_cast<std::size_t>(i);
      if (read.skipped[row].empty())
        print_captions_of(images.source(first + i), found[row], json);
      else
        unread.add(read.skipped[row]);
    }
    std::fflush(stdout);
    activity.progress();
  }
  unread.finish(images.size());
}

/// Whether the run's model takes what the command gives.
void check_inputs(const DataNeeds& needs, const GenerateOptions& options, const std::string& run) {
  const bool sees_images = needs.inputs == "captioned_images";
  const bool has_images = options.folder || !options.images.empty();
  LS_USER_CHECK(!sees_images || has_images,
                "{}: its model captions images: give some (--image FILE..., --folder FOLDER)", run);
  LS_USER_CHECK(sees_images || !has_images, "{}: its model continues texts: leave out --{}", run,
                options.folder ? "folder" : "image");
  LS_USER_CHECK(sees_images || !options.json, "{}: its model continues texts: leave out --json",
                run);
}

}  // namespace

int generate(const std::string& run, const Registry& registry, const GenerateOptions& options,
             const Settings& settings, Watch& watch) {
  const std::vector<std::string> images = named_images(options.images, options.folder);
  const Activity activity = watch.activity();
  activity.begin(Phase::kPrepare);
  watch.set_limits(watch_limits(SavedRun(run).config_file(registry)));
  join_hub_of_launcher(settings, watch);
  std::unique_ptr<Communicator> alone = make_single_communicator();
  const UsedModel used = UsedModel::open(run, registry, *alone, activity);
  const SavedFacts& facts = used.facts;
  const Config& config = facts.config;
  const TokenizerPtr& tokenizer = facts.tokenizer;
  const SampleConfig sample = sample_options(config.sample, options);
  LS_USER_CHECK(tokenizer != nullptr, "{} {}: there is no text to generate", run,
                used.checkpoint ? "was trained without a tokenizer" : "has no tokenizer.json");
  const DataNeeds needs = registry.needs(config.model);
  check_inputs(needs, options, run);
  const bool captions = !images.empty();
  LS_USER_CHECK(
      !captions || used.checkpoint,
      "{} does not say how its images are made to fit (data.resize and so on): caption "
      "with a run, which 'model.from_pretrained: {}' and 'training.max_steps: 0' make of it",
      run, run);
  if (!captions) check_prompt(*tokenizer, sample.prompt);

  RankRuntime runtime(config, settings, std::move(alone), watch);
  const RestoredModel restored =
      used.restore(registry, tokenizer->vocab_size(), runtime, weights_of(options.ema));
  activity.begin(Phase::kGenerate);
  if (captions) {
    print_captions({runtime.engine(), *restored.model, restored.state.compute_dtype, needs,
                    *tokenizer, sample},
                   images_like(config, registry, facts, images), options.json, activity);
    return 0;
  }
  print_texts({runtime.engine(), *restored.model, restored.state.compute_dtype, *tokenizer,
               needs.sequence_length, sample},
              sample);
  return 0;
}

}  // namespace lockstep
