#include "trainer/apps/generate.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <span>

#include "collectives/single.h"
#include "core/base/error.h"
#include "data/files/utf8.h"
#include "data/images/image_dataset.h"
#include "data/images/image_folder.h"
#include "data/tokenizers/text_stream.h"
#include "data/tokenizers/tokenizer.h"
#include "trainer/apps/captioner.h"
#include "trainer/apps/restored_model.h"
#include "trainer/datasets/image_settings.h"
#include "trainer/generation/continuation.h"
#include "trainer/generation/draw.h"
#include "trainer/generation/search_beams.h"
#include "trainer/job/rank_runtime.h"
#include "trainer/registry/registry.h"
#include "trainer/run/saved_facts.h"
#include "trainer/run/saved_run.h"

namespace lockstep {
namespace {

/// The prompt's tokens; for an empty prompt, the token that begins a text, or else the token that
/// ends one.
std::vector<std::int32_t> prompt_tokens(const Tokenizer& tokenizer, const std::string& prompt) {
  std::vector<std::int32_t> out = tokenizer.encode(prompt);
  if (!out.empty()) return out;
  const SpecialTokens& special = tokenizer.special();
  const std::optional<std::int32_t> first = special.bos ? special.bos : special.eos;
  LS_USER_CHECK(first.has_value(),
                "the prompt is empty, and the tokenizer has no token that begins or ends a text: "
                "give at least one character (--prompt)");
  return {*first};
}

void print_numbered(std::span<const std::string> texts) {
  for (std::size_t i = 0; i < texts.size(); ++i)
    fmt::print("--- sample {} of {}\n{}\n", i + 1, texts.size(), texts[i]);
}

/// The text that begins the display of a continuation, token by token.
TextStream stream_after(const Tokenizer& tokenizer, const std::vector<std::int32_t>& prompt,
                        const SampleConfig& sample) {
  return TextStream(tokenizer,
                    sample.prompt.empty() ? std::span<const std::int32_t>() : std::span(prompt));
}

/// Draws tokens until every sample has ended or has the maximum number, and prints them: a single
/// sample as it grows, several samples one after the other at the end.
void print_samples(Continuation& samples, const Tokenizer& tokenizer,
                   const std::vector<std::int32_t>& prompt, const SampleConfig& sample) {
  const DrawOptions draw{.temperature = sample.temperature,
                         .top_k = sample.top_k,
                         .top_p = sample.top_p,
                         .seed = static_cast<std::uint64_t>(sample.seed)};
  const auto count = static_cast<std::size_t>(samples.samples());
  std::vector<std::string> texts(count, valid_utf8(sample.prompt));
  std::vector<std::int32_t> next(count, 0);
  std::vector<bool> ended(count, false);
  std::vector<TextStream> streams;
  streams.reserve(count);
  for (std::size_t s = 0; s < count; ++s)
    streams.push_back(stream_after(tokenizer, prompt, sample));
  const auto tell = [&](std::size_t s, const std::string& text) {
    texts[s] += text;
    if (count == 1) fmt::print("{}", text);
  };
  if (count == 1) fmt::print("{}", texts[0]);
  for (std::int64_t i = 0; i < sample.max_new_tokens; ++i) {
    const std::vector<float> logits = samples.next_logits();
    const std::size_t width = logits.size() / count;
    // A padded vocabulary has rows without tokens.
    const std::size_t known = std::min(width, static_cast<std::size_t>(tokenizer.vocab_size()));
    for (std::size_t s = 0; s < count; ++s) {
      next[s] = draw_token(std::span(logits).subspan(s * width, known), draw, s,
                           static_cast<std::uint64_t>(samples.size()));
      ended[s] = ended[s] || tokenizer.special().eos == next[s];
      if (ended[s]) continue;
      tell(s, streams[s].add(next[s]));
    }
    if (std::ranges::find(ended, false) == ended.end()) break;
    std::fflush(stdout);
    samples.append(next);
  }
  for (std::size_t s = 0; s < count; ++s) tell(s, streams[s].finish());
  if (count > 1) return print_numbered(texts);
  fmt::print("\n");
}

/// Prints the best texts that beam search finds, the best first.
void print_best(Continuation& beams, const Tokenizer& tokenizer,
                const std::vector<std::int32_t>& prompt, const SampleConfig& sample) {
  const std::int64_t room = beams.room();
  const std::vector<std::vector<Hypothesis>> found =
      search_beams(beams, {sample.num_beams, sample.length_penalty, sample.early_stopping},
                   sample.max_new_tokens, tokenizer.vocab_size(), tokenizer.special().eos);
  std::vector<std::string> texts;
  bool is_cut = false;
  for (const Hypothesis& one :
       std::span(found[0]).first(static_cast<std::size_t>(sample.num_samples))) {
    TextStream stream = stream_after(tokenizer, prompt, sample);
    texts.push_back(valid_utf8(sample.prompt));
    for (const std::int32_t token : one.tokens) texts.back() += stream.add(token);
    texts.back() += stream.finish();
    is_cut |= !one.ended && room < sample.max_new_tokens;
  }
  if (texts.size() > 1) {
    print_numbered(texts);
  } else {
    fmt::print("{}\n", texts[0]);
  }
  if (is_cut)
    fmt::print(
        stderr,
        "lockstep: warning: the model's context is full after {} of {} new tokens, where beam "
        "search ends\n",
        room, sample.max_new_tokens);
}

/// The images, resized and scaled as in the run's evaluation.
ImageDataset images_like(const Config& config, const Registry& registry, const SavedFacts& facts,
                         const std::vector<std::string>& paths) {
  const auto* own = registry.at(config.data).part<ImageSettings>(config.data.keys);
  const ImageSettings settings = own != nullptr ? *own : ImageSettings{.of_any_size = true};
  const auto& [channels, height, width] =
      facts.samples ? facts.samples->shape : registry.needs(config.model).image;
  constexpr std::int64_t kOneClass = 1;  // files have none; all get label 0
  return {std::make_shared<ImageFiles>(paths, settings.limits()),
          for_evaluation(settings.options({channels, height, width}, kOneClass))};
}

/// Prints "FILE: caption" for each image and sample.
void print_captions(const Captioner& captioner, const ImageDataset& images) {
  constexpr std::int64_t kMaxImages = 16;
  const std::int64_t batch = std::min(images.size(), kMaxImages);
  for (std::int64_t first = 0; first < images.size(); first += batch) {
    const auto found = captioner.captions(image_batch(images, first, batch).fields, first);
    for (std::int64_t i = 0; i < batch && first + i < images.size(); ++i)
      for (const std::string& text : found[static_cast<std::size_t>(i)])
        fmt::print("{}: {}\n", images.source(first + i), text);
    std::fflush(stdout);
  }
}

/// Whether the run's model takes what the command gives.
void check_inputs(const DataNeeds& needs, const GenerateOptions& options, const std::string& run) {
  const bool sees_images = needs.inputs == "captioned_images";
  LS_USER_CHECK(!sees_images || !options.images.empty(),
                "{}: its model captions images: give some (--image FILE...)", run);
  LS_USER_CHECK(sees_images || options.images.empty(),
                "{}: its model continues texts: leave out --image", run);
}

}  // namespace

int generate(const std::string& run, const Registry& registry, const GenerateOptions& options,
             const Settings& settings, Watch& watch) {
  const Activity activity = watch.activity();
  activity.begin(Phase::kPrepare);
  const SavedRun from(run);
  watch.set_limits(watch_limits(from.config_file(registry)));
  join_hub_of_launcher(settings, watch);
  std::unique_ptr<Communicator> alone = make_single_communicator();
  const SharedCheckpoint saved = from.share_checkpoint(*alone, activity);
  const SavedFacts facts = facts_of(saved, registry);
  const Config& config = facts.config;
  const TokenizerPtr& tokenizer = facts.tokenizer;
  const SampleConfig sample = sample_options(config.sample, options);
  LS_USER_CHECK(tokenizer != nullptr,
                "{} was trained without a tokenizer: there is no text to generate", run);
  const DataNeeds needs = registry.needs(config.model);
  check_inputs(needs, options, run);
  const bool captions = !options.images.empty();
  std::vector<std::int32_t> prompt;
  if (!captions) prompt = prompt_tokens(*tokenizer, sample.prompt);

  RankRuntime runtime(config, settings, std::move(alone), watch);
  const RestoredModel restored(config, registry, tokenizer->vocab_size(), runtime, saved);
  activity.begin(Phase::kGenerate);
  if (captions) {
    print_captions({runtime.engine(), *restored.model, restored.state.compute_dtype, needs,
                    *tokenizer, sample},
                   images_like(config, registry, facts, options.images));
    return 0;
  }
  const bool searches = sample.num_beams > 1;
  const std::int64_t context = needs.sequence_length;
  const std::int64_t length =
      searches
          ? search_length(context, static_cast<std::int64_t>(prompt.size()), sample.max_new_tokens)
          : context;
  Continuation rows(runtime.engine(), *restored.model, restored.state.compute_dtype, length, prompt,
                    searches ? sample.num_beams : sample.num_samples);
  if (searches) {
    print_best(rows, *tokenizer, prompt, sample);
  } else {
    print_samples(rows, *tokenizer, prompt, sample);
  }
  return 0;
}

}  // namespace lockstep
