// A cache of keys and values changes no token, compared with computing everything again.
#include "trainer/generation/continuation.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "collectives/single.h"
#include "core/observe/donation.h"
#include "core/runtime/compiled_step.h"
#include "core/trace/mode.h"
#include "trainer/apps/from_config.h"
#include "trainer/job/rank_runtime.h"
#include "trainer/models/gpt2/gpt2.h"
#include "trainer/registry/registry.h"
#include "trainer/train/training_state.h"

namespace lockstep {
namespace {

constexpr std::int64_t kLength = 48;
constexpr std::int64_t kWords = 50;

/// The same model, whose logits alone are known.
struct WithoutCache final : Model {
  explicit WithoutCache(const Model& model) : model_(model) {}
  Loss operator()(const Batch& batch) const override { return model_(batch); }
  Tensor logits(const Tensor& tokens) const override { return model_.logits(tokens); }
  const Model& model_;
};

struct Sampled : testing::Test {
  explicit Sampled(DType dtype = DType::kF32) : compute_dtype(dtype) {
    draw_values(model, runtime.engine(), 3);
  }

  Continuation start(const Model& of, std::vector<std::int32_t> prompt, std::int64_t samples = 1) {
    return {runtime.engine(), of, compute_dtype, kLength, prompt, samples};
  }
  /// The likeliest token of each sample.
  static std::vector<std::int32_t> likeliest(const std::vector<float>& logits) {
    std::vector<std::int32_t> out;
    for (auto row = logits.begin(); row != logits.end(); row += kWords)
      out.push_back(static_cast<std::int32_t>(std::max_element(row, row + kWords) - row));
    return out;
  }
  std::int64_t count(const char* what) { return runtime.metrics().counter(what); }

  DType compute_dtype;
  Watch watch;
  RankRuntime runtime{Config{}, Settings{}, make_single_communicator(), watch};
  Gpt2 model{Gpt2Config{.n_layer = 2,
                        .n_head = 3,
                        .n_embd = 48,
                        .n_positions = kLength,
                        .vocab_size = kWords,
                        .attn_pdrop = 0.1},
             {}};
  WithoutCache uncached{model};
};

TEST_F(Sampled, WithACacheIsWhatItIsWithout) {
  Continuation with = start(model, {1, 2, 3});
  Continuation without = start(uncached, {1, 2, 3});
  while (with.size() < kLength) {
    const std::vector<float> got = with.next_logits();
    const std::vector<float> want = without.next_logits();
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-5);
    with.append(likeliest(got));
    without.append(likeliest(want));
    ASSERT_EQ(with.tokens(0), without.tokens(0));
  }
}

TEST_F(Sampled, SeveralAtOnceAreWhatTheyAreAlone) {
  Continuation both = start(model, {5}, 2);
  Continuation first = start(model, {5});
  Continuation second = start(model, {5});
  for (std::int32_t i = 0; i < 30; ++i) {
    const std::vector<float> got = both.next_logits();
    const std::vector<float> a = first.next_logits();
    const std::vector<float> b = second.next_logits();
    for (std::size_t w = 0; w < kWords; ++w) {
      ASSERT_NEAR(got[w], a[w], 1e-5);
      ASSERT_NEAR(got[kWords + w], b[w], 1e-5);
    }
    const std::int32_t next[] = {i, 49 - i};
    both.append(next);
    first.append(std::span(next, 1));
    second.append(std::span(next + 1, 1));
  }
}

TEST_F(Sampled, FollowTheirOrderWithTheCache) {
  Continuation with = start(model, {5, 6}, 4);
  Continuation without = start(uncached, {5, 6}, 4);
  const std::vector<std::vector<std::int32_t>> orders = {
      {0, 0, 0, 0}, {3, 1, 1, 2}, {0, 1, 2, 3}, {2, 3, 1, 0}, {1, 0, 3, 3}};
  for (std::int32_t i = 0; with.size() < kLength; ++i) {
    const std::vector<float> got = with.next_logits();
    const std::vector<float> want = without.next_logits();
    for (std::size_t w = 0; w < want.size(); ++w) ASSERT_NEAR(got[w], want[w], 1e-5) << i;
    const std::int32_t next[] = {i, 49 - i, 7, i / 2};
    for (Continuation* each : {&with, &without}) {
      each->reorder(orders[static_cast<std::size_t>(i) % 5]);
      each->append(next);
      // Two orders in a row are one.
      if (i % 3 == 0) each->reorder(orders[static_cast<std::size_t>(i + 1) % 5]);
    }
    for (std::int64_t s = 0; s < 4; ++s) ASSERT_EQ(with.tokens(s), without.tokens(s));
  }
}

TEST_F(Sampled, TakeOneMoreProgramForAllOrdersAtAllPositions) {
  Continuation with = start(model, {1, 2, 3}, 4);
  const auto advance = [&](std::int64_t position) {
    const auto all = likeliest(with.next_logits());
    const std::vector<std::int32_t> orders[] = {{0, 0, 1, 2}, {3, 2, 1, 0}, {1, 1, 1, 0}};
    with.reorder(orders[position % 3]);
    with.append(all);
  };
  for (int i = 0; i < 3; ++i) advance(i);
  const std::int64_t compiled = count("UncachedCompile");
  while (with.size() < kLength) advance(with.size());
  EXPECT_EQ(count("UncachedCompile"), compiled);
  EXPECT_EQ(count("DonationCopy"), 0) << "caches that were copied before a row was written";
}

TEST_F(Sampled, ThatOnlyExchangeTheirPlacesTakeTheProgramOfThoseThatStay) {
  Continuation with = start(model, {1, 2, 3}, 3);
  const std::int32_t next[] = {1, 2, 3};
  for (int i = 0; i < 2; ++i) {
    (void)with.next_logits();
    with.append(next);
  }
  const std::int64_t compiled = count("UncachedCompile");
  for (int i = 0; i < 6; ++i) {
    const std::int32_t order[] = {2, 0, 1};
    with.reorder(order);
    (void)with.next_logits();
    with.append(next);
  }
  EXPECT_EQ(count("UncachedCompile"), compiled);
}

TEST_F(Sampled, OfPromptsThatDiffer) {
  const std::vector<std::vector<std::int32_t>> prompts = {{1, 2, 3}, {4, 5, 6}};
  Continuation both(runtime.engine(), model, compute_dtype, kLength, prompts);
  EXPECT_EQ(both.room(), kLength - 3);
  const std::vector<float> got = both.next_logits();
  for (std::size_t s = 0; s < 2; ++s) {
    const std::vector<float> want = start(model, prompts[s]).next_logits();
    for (std::size_t w = 0; w < kWords; ++w) ASSERT_NEAR(got[s * kWords + w], want[w], 1e-5);
  }
}

TEST_F(Sampled, OfALongPromptSeesItsEnd) {
  std::vector<std::int32_t> prompt(3 * kLength);
  for (std::size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<std::int32_t>(i % 7);
  Continuation with = start(model, prompt);
  Continuation without = start(uncached, prompt);
  const std::vector<float> got = with.next_logits();
  const std::vector<float> want = without.next_logits();
  for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-5);
}

TEST_F(Sampled, ForgetsTheOlderHalfWhenItsContextIsFull) {
  Continuation with = start(model, {1, 2, 3});
  while (with.size() <= kLength) with.append(likeliest(with.next_logits()));
  const std::vector<std::int32_t>& tokens = with.tokens(0);
  Continuation again = start(uncached, {tokens.end() - kLength / 2, tokens.end()});
  const std::vector<float> got = with.next_logits();
  const std::vector<float> want = again.next_logits();
  for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-5);
}

TEST_F(Sampled, TakesOneProgramForAllPositionsAndCopiesNoCache) {
  Continuation with = start(model, {1, 2, 3});
  with.append(likeliest(with.next_logits()));
  with.append(likeliest(with.next_logits()));
  const std::int64_t compiled = count("UncachedCompile");
  const std::int64_t cached = count("CachedCompile");
  while (with.size() < kLength) with.append(likeliest(with.next_logits()));
  EXPECT_EQ(count("UncachedCompile"), compiled);
  EXPECT_EQ(count("CachedCompile"), cached + kLength - 5);
  EXPECT_EQ(count("DonationCopy"), 0) << "caches that were copied before a row was written";
}

TEST_F(Sampled, WritesEveryRowInPlace) {
  Engine& engine = runtime.engine();
  const Shape rows{2, kLength, 3, 16};
  KeyValueCache cache;
  for (int layer = 0; layer < 2; ++layer)
    cache.layers.push_back(
        {engine.to_device({HostTensor(DType::kF32, rows)}, InputKind::kState, "keys"),
         engine.to_device({HostTensor(DType::kF32, rows)}, InputKind::kState, "values")});
  cache.position = engine.context().scalar(20, DType::kI64, "position");
  cache.last = engine.context().scalar(0, DType::kI64, "last");
  const Tensor tokens = engine.to_device(
      {HostTensor::of(Shape{2, 1}, std::vector<std::int32_t>{1, 2})}, InputKind::kState, "tokens");
  std::optional<ModeScope> mode(std::in_place, engine.context(),
                                Mode{.compute_dtype = DType::kF32});
  const Tensor logits = model.next_logits(tokens, cache);
  mode.reset();
  const auto step = engine.compile_pending();
  std::int64_t in_place = 0;
  for (const InputDonation& input : donations(*step)) {
    in_place += input.kind == Donation::kDonated ? 1 : 0;
    EXPECT_NE(input.kind, Donation::kCopied) << input.why;
  }
  EXPECT_EQ(in_place, 4);
}

struct SampledInBf16 : Sampled {
  SampledInBf16() : Sampled(DType::kBF16) {}
};

TEST_F(SampledInBf16, WithACacheIsNearWhatItIsWithout) {
  Continuation with = start(model, {1, 2, 3});
  Continuation without = start(uncached, {1, 2, 3});
  for (std::int32_t token = 0; token < 20; ++token) {
    const std::vector<float> got = with.next_logits();
    const std::vector<float> want = without.next_logits();
    for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 0.02);
    with.append(std::span(&token, 1));
    without.append(std::span(&token, 1));
  }
}

}  // namespace
}  // namespace lockstep
