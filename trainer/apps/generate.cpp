#include "trainer/apps/generate.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <span>
#include <string_view>

#include "collectives/single.h"
#include "core/base/error.h"
#include "data/files/utf8.h"
#include "data/tokenizers/text_stream.h"
#include "data/tokenizers/tokenizer.h"
#include "trainer/apps/restored_model.h"
#include "trainer/generation/continuation.h"
#include "trainer/generation/draw.h"
#include "trainer/generation/search_beams.h"
#include "trainer/job/rank_runtime.h"
#include "trainer/registry/registry.h"
#include "trainer/run/saved_facts.h"
#include "trainer/run/saved_run.h"

namespace lockstep {
namespace {

/// Refuses options that have no effect beside the others.
void check_beam_options(const SampleConfig& sample, const GenerateOptions& options) {
  const bool searches = sample.num_beams > 1;
  std::vector<std::string_view> idle;
  const auto note = [&](bool given, std::string_view name) {
    if (given) idle.push_back(name);
  };
  note(searches && options.temperature, "--temperature");
  note(searches && options.top_k, "--top-k");
  note(searches && options.top_p, "--top-p");
  note(searches && options.seed, "--seed");
  LS_USER_CHECK(idle.empty(),
                "beam search ({} beams) draws no tokens: leave out {}, or give --num-beams 1",
                sample.num_beams, fmt::join(idle, ", "));
  note(!searches && options.length_penalty, "--length-penalty");
  note(!searches && options.early_stopping, "--early-stopping");
  LS_USER_CHECK(idle.empty(),
                "without beam search there is no use for {}: give --num-beams 2 or more",
                fmt::join(idle, ", "));
  LS_USER_CHECK(!searches || sample.num_samples <= sample.num_beams,
                "{} samples of {} beams: beam search has as many continuations as beams; change "
                "--num-samples or --num-beams",
                sample.num_samples, sample.num_beams);
}

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
  out.num_beams = options.num_beams.value_or(out.num_beams);
  out.length_penalty = options.length_penalty.value_or(out.length_penalty);
  out.early_stopping = options.early_stopping.value_or(out.early_stopping);
  LS_USER_CHECK(out.max_new_tokens >= 0, "the number of new tokens {} must not be negative",
                out.max_new_tokens);
  LS_USER_CHECK(std::isfinite(out.temperature) && out.temperature >= 0,
                "the temperature {} must be 0 or more", out.temperature);
  LS_USER_CHECK(out.top_k >= 0, "top_k {} must be 0 (all tokens) or more", out.top_k);
  LS_USER_CHECK(out.top_p > 0 && out.top_p <= 1, "top_p {} must be above 0 and at most 1 (all)",
                out.top_p);
  LS_USER_CHECK(out.num_samples > 0, "{} samples: there must be at least one", out.num_samples);
  LS_USER_CHECK(out.num_beams > 0, "{} beams: there must be at least one", out.num_beams);
  LS_USER_CHECK(std::isfinite(out.length_penalty), "the length penalty {} must be a number",
                out.length_penalty);
  check_beam_options(out, options);
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
  const bool searches = sample.num_beams > 1;
  const std::int64_t context = registry.needs(config.model).sequence_length;
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
