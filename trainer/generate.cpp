#include <algorithm>
#include <cmath>
#include <numeric>

#include "checkpoint/restore.h"
#include "collectives/single.h"
#include "core/base/error.h"
#include "core/base/rng.h"
#include "core/trace/mode.h"
#include "data/tokenizers/tokenizer.h"
#include "trainer/from_config.h"
#include "trainer/rank_runtime.h"
#include "trainer/registry/registry.h"
#include "trainer/saved_texts.h"
#include "trainer/train.h"

namespace lockstep {
namespace {

/// One token drawn from softmax(logits / temperature) over the top_k likeliest (0: all);
/// temperature 0 takes the likeliest. The draw is a function of (seed, position).
std::int32_t draw_token(std::span<const float> logits, const SampleConfig& sample,
                        std::uint64_t position) {
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
  });
  if (sample.temperature == 0) return order[0];
  if (sample.top_k > 0)
    order.resize(std::min(order.size(), static_cast<std::size_t>(sample.top_k)));
  std::vector<double> weights;
  const double largest = logits[static_cast<std::size_t>(order[0])];
  for (const std::int32_t token : order)
    weights.push_back(
        std::exp((static_cast<double>(logits[static_cast<std::size_t>(token)]) - largest) /
                 sample.temperature));
  const RngKey key{.seed = static_cast<std::uint64_t>(sample.seed),
                   .stream = rng_stream("sample"),
                   .step = position};
  double left = static_cast<double>(random_word(key, 0)) * 0x1.0p-32 *
                std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    left -= weights[i];
    if (left < 0) return order[i];
  }
  return order.back();
}

/// Logits of the token after `tokens`. The window has a fixed size, so that one program serves all
/// positions: what follows the last token is padding, which a causal model does not see.
std::vector<float> next_logits(Engine& engine, const Model& model, DType compute_dtype,
                               std::span<const std::int32_t> tokens, std::int64_t block_size) {
  const auto window = static_cast<std::size_t>(block_size);
  if (tokens.size() > window) tokens = tokens.last(window);
  std::vector<std::int32_t> padded(tokens.begin(), tokens.end());
  padded.resize(window, 0);
  const Tensor input =
      engine.to_device({HostTensor::of(Shape{1, block_size}, padded)}, InputKind::kState, "tokens");
  const Tensor last =
      engine.context().scalar(static_cast<double>(tokens.size()) - 1, DType::kI64, "last_position");
  const ModeScope mode(engine.context(), {.compute_dtype = compute_dtype});
  const Tensor logits = model.logits(input);   // [1,T,V]
  const Tensor row = gather(logits, last, 1);  // [1,V]
  const HostTensor host = convert(row, DType::kF32).to_host();
  const auto values = host.as<const float>();
  return {values.begin(), values.end()};
}

}  // namespace

int generate(const std::string& run, const Registry& registry, const GenerateOptions& options,
             const Settings& settings, Watch& watch) {
  const Activity activity = watch.activity();
  activity.begin(Phase::kPrepare);
  watch.set_limits(early_watch_limits(run, registry));
  join_hub_of_launcher(settings, watch);
  std::unique_ptr<Communicator> alone = make_single_communicator();
  const SharedCheckpoint saved = SharedCheckpoint::open(*alone, [&] {
                                   const ForeignCall call(activity, "reading the checkpoints");
                                   return std::optional(open_checkpoint(run));
                                 }).value();
  Config config = saved_config(saved.config_yaml(), saved.path(), registry);
  SampleConfig sample = config.sample;
  sample.prompt = options.prompt.value_or(sample.prompt);
  sample.max_new_tokens = options.max_new_tokens.value_or(sample.max_new_tokens);
  sample.temperature = options.temperature.value_or(sample.temperature);
  sample.top_k = options.top_k.value_or(sample.top_k);
  sample.seed = options.seed.value_or(sample.seed);
  LS_USER_CHECK(sample.max_new_tokens >= 0, "the number of new tokens {} must not be negative",
                sample.max_new_tokens);
  LS_USER_CHECK(std::isfinite(sample.temperature) && sample.temperature >= 0,
                "the temperature {} must be 0 or more", sample.temperature);
  LS_USER_CHECK(sample.top_k >= 0, "top_k {} must be 0 (all tokens) or more", sample.top_k);
  LS_USER_CHECK(!saved.trainer().tokenizer.empty(),
                "{} was trained without a tokenizer: there is no text to generate", run);
  check_saved_tokenizer(saved.trainer().tokenizer, saved.path());
  const TokenizerPtr tokenizer = tokenizer_from_json(saved.trainer().tokenizer, run);
  std::vector<std::int32_t> tokens = tokenizer->encode(sample.prompt);
  LS_USER_CHECK(!tokens.empty(), "the prompt is empty: give at least one character (--prompt)");

  RankRuntime session(config, settings, std::move(alone), watch);
  const std::unique_ptr<Model> model = registry.make_model(config.model, {tokenizer->vocab_size()});
  TrainingState state = make_training_state(config, registry, *model);
  restore(state, session.engine(), saved, false);
  make_copies(state, session.engine());
  fmt::print("{}", sample.prompt);
  activity.begin(Phase::kGenerate);
  const std::int64_t window = registry.needs(config.model).sequence_length;
  for (std::int64_t i = 0; i < sample.max_new_tokens; ++i) {
    std::vector<float> logits =
        next_logits(session.engine(), *model, state.compute_dtype, tokens, window);
    // A vocabulary that was padded up has rows without tokens.
    logits.resize(std::min(logits.size(), static_cast<std::size_t>(tokenizer->vocab_size())));
    const std::int32_t token = draw_token(logits, sample, tokens.size());
    if (tokenizer->end_of_text() == token) break;
    tokens.push_back(token);
    fmt::print("{}", tokenizer->decode(std::span(&token, 1)));
    std::fflush(stdout);
  }
  fmt::print("\n");
  return 0;
}

}  // namespace lockstep
