#include "trainer/apps/generate.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "collectives/single.h"
#include "core/base/error.h"
#include "data/files/utf8.h"
#include "data/tokenizers/text_stream.h"
#include "data/tokenizers/tokenizer.h"
#include "trainer/apps/restored_model.h"
#include "trainer/generation/continuation.h"
#include "trainer/generation/draw.h"
#include "trainer/job/rank_runtime.h"
#include "trainer/registry/registry.h"
#include "trainer/run/saved_facts.h"
#include "trainer/run/saved_run.h"

namespace lockstep {
namespace {

/// The options of a run's sample section, overridden by those of the command.
SampleConfig sample_options(const SampleConfig& saved, const GenerateOptions& options) {
  SampleConfig out = saved;
  out.prompt = options.prompt.value_or(out.prompt);
  out.max_new_tokens = options.max_new_tokens.value_or(out.max_new_tokens);
  out.temperature = options.temperature.value_or(out.temperature);
  out.top_k = options.top_k.value_or(out.top_k);
  out.top_p = options.top_p.value_or(out.top_p);
  out.num_samples = options.num_samples.value_or(out.num_samples);
  out.seed = options.seed.value_or(out.seed);
  LS_USER_CHECK(out.max_new_tokens >= 0, "the number of new tokens {} must not be negative",
                out.max_new_tokens);
  LS_USER_CHECK(std::isfinite(out.temperature) && out.temperature >= 0,
                "the temperature {} must be 0 or more", out.temperature);
  LS_USER_CHECK(out.top_k >= 0, "top_k {} must be 0 (all tokens) or more", out.top_k);
  LS_USER_CHECK(out.top_p > 0 && out.top_p <= 1, "top_p {} must be above 0 and at most 1 (all)",
                out.top_p);
  LS_USER_CHECK(out.num_samples > 0, "{} samples: there must be at least one", out.num_samples);
  return out;
}

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
    streams.emplace_back(
        tokenizer, sample.prompt.empty() ? std::span<const std::int32_t>() : std::span(prompt));
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
  for (std::size_t s = 0; count > 1 && s < count; ++s)
    fmt::print("--- sample {} of {}\n{}\n", s + 1, count, texts[s]);
  if (count == 1) fmt::print("\n");
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
  const std::vector<std::int32_t> prompt = prompt_tokens(*tokenizer, sample.prompt);

  RankRuntime runtime(config, settings, std::move(alone), watch);
  const RestoredModel restored(config, registry, tokenizer->vocab_size(), runtime, saved);
  activity.begin(Phase::kGenerate);
  Continuation samples(runtime.engine(), *restored.model, restored.state.compute_dtype,
                       registry.needs(config.model).sequence_length, prompt, sample.num_samples);
  print_samples(samples, *tokenizer, prompt, sample);
  return 0;
}

}  // namespace lockstep
