#include "trainer/generation/continuation.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <ranges>
#include <utility>

#include "core/base/error.h"
#include "core/trace/mode.h"

namespace lockstep {
namespace {

/// The shortest program for a prompt, in tokens.
constexpr std::int64_t kShortest = 16;

/// Each row of x [B,S,H,D] `times` in a row: [B * times,S,H,D].
Tensor repeated(const Tensor& x, std::int64_t times) {
  if (times == 1) return x;
  const Shape& shape = x.shape();
  const Tensor each =
      broadcast_in_dim(x, Shape{shape[0], times, shape[1], shape[2], shape[3]}, {0, 2, 3, 4});
  return reshape(each, Shape{shape[0] * times, shape[1], shape[2], shape[3]});
}

}  // namespace

Continuation::Continuation(Engine& engine, const Model& model, DType compute_dtype,
                           std::int64_t length, std::span<const std::int32_t> prompt,
                           std::int64_t samples)
    : Continuation(engine, model, compute_dtype, length,
                   std::vector<std::vector<std::int32_t>>(static_cast<std::size_t>(samples),
                                                          {prompt.begin(), prompt.end()})) {}

Continuation::Continuation(Engine& engine, const Model& model, DType compute_dtype,
                           std::int64_t length, std::vector<std::vector<std::int32_t>> prompts)
    : engine_(engine),
      model_(model),
      compute_dtype_(compute_dtype),
      length_(length),
      samples_(static_cast<std::int64_t>(prompts.size())),
      tokens_(std::move(prompts)) {
  LS_CHECK(!tokens_.empty() && !tokens_[0].empty() && length > 0, "no tokens to continue");
  for (const std::vector<std::int32_t>& prompt : tokens_)
    LS_CHECK(prompt.size() == tokens_[0].size(), "prompts of {} and {} tokens", tokens_[0].size(),
             prompt.size());
  places_.resize(tokens_.size());
  std::iota(places_.begin(), places_.end(), 0);
  begin_ = std::max<std::int64_t>(size() - length_, 0);
  // A program for one token would be the one for all positions, so a prompt has two or more.
  if (const auto shape = model.cache_shape(); shape && length_ > 1) make_cache(*shape);
}

void Continuation::make_cache(const CacheShape& shape) {
  length_ = std::min(length_, shape.length);
  begin_ = std::max<std::int64_t>(size() - length_, 0);
  const Shape rows{samples_, length_, shape.kv_heads, shape.head_size};
  const auto zeros = [&](const char* what, std::int64_t layer) {
    return engine_.to_device({HostTensor(compute_dtype_, rows)}, InputKind::kState,
                             fmt::format("cache.{}.{}", layer, what));
  };
  for (std::int64_t i = 0; i < shape.layers; ++i)
    cache_.layers.push_back({zeros("keys", i), zeros("values", i)});
}

void Continuation::remember(HostBatch inputs) {
  const ModeScope mode(engine_.context(), {.compute_dtype = compute_dtype_});
  Batch::Fields fields;
  for (auto& [name, value] : inputs)
    fields[name] = engine_.to_device({std::move(value)}, InputKind::kState, name);
  const Batch batch(std::move(fields));
  model_.remember(batch, cache_);
  const std::int64_t each = samples_ / batch.size();
  LS_CHECK(each * batch.size() == samples_, "{} inputs for {} samples", batch.size(), samples_);
  for (KeyValueCache::Layer& layer : cache_.memory)
    for (Tensor* tensor : {&layer.keys, &layer.values}) *tensor = repeated(*tensor, each);
  engine_.mark_step(SyncReason::kEvaluation);  // once for an image, not in the prompt's program
}

void Continuation::append(std::span<const std::int32_t> tokens) {
  LS_CHECK(tokens.size() == tokens_.size(), "{} tokens for {} samples", tokens.size(),
           tokens_.size());
  for (std::size_t s = 0; s < tokens_.size(); ++s) tokens_[s].push_back(tokens[s]);
  if (size() - begin_ <= length_) return;
  begin_ = cache_.layers.empty() ? size() - length_ : size() - (length_ + 1) / 2;
  kept_ = begin_;
}

void Continuation::reorder(std::span<const std::int32_t> rows) {
  LS_CHECK(rows.size() == tokens_.size(), "{} rows for {} samples", rows.size(), tokens_.size());
  std::vector<std::vector<std::int32_t>> tokens;
  for (const std::int32_t row : rows) {
    LS_CHECK(row >= 0 && row < samples_, "row {} of {}", row, samples_);
    tokens.push_back(tokens_[static_cast<std::size_t>(row)]);
  }
  tokens_ = std::move(tokens);
  move_cache(rows);
}

/// The first sample of those that become what one was takes over its place; the others get places
/// that nobody took, in ascending order: so a run of samples keeps its run of places.
void Continuation::move_cache(std::span<const std::int32_t> rows) {
  constexpr std::int32_t kNone = -1;
  std::vector<std::int32_t> places(rows.size(), kNone);
  std::vector<bool> is_taken(rows.size(), false);
  const auto old_place = [&](std::size_t i) { return places_[static_cast<std::size_t>(rows[i])]; };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto place = static_cast<std::size_t>(old_place(i));
    if (!is_taken[place]) places[i] = old_place(i);
    is_taken[place] = true;
  }
  std::vector<std::int32_t> from(rows.size());
  std::iota(from.begin(), from.end(), 0);
  auto free = is_taken.begin();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (places[i] != kNone) continue;
    free = std::find(free, is_taken.end(), false);
    places[i] = static_cast<std::int32_t>(free++ - is_taken.begin());
    from[static_cast<std::size_t>(places[i])] = old_place(i);
  }
  places_ = std::move(places);
  if (std::ranges::equal(from, std::views::iota(0, static_cast<std::int32_t>(samples_)))) return;
  for (std::int32_t& row : from)
    if (!copied_.empty()) row = copied_[static_cast<std::size_t>(row)];
  copied_ = std::move(from);
}

std::vector<float> Continuation::next_logits() {
  const ModeScope mode(engine_.context(), {.compute_dtype = compute_dtype_});
  const Tensor logits = cache_.layers.empty() ? all_logits() : cached_logits();
  const HostTensor host = convert(logits, DType::kF32).to_host();
  const auto values = host.as<const float>();
  const std::size_t width = values.size() / tokens_.size();
  std::vector<float> out;
  out.reserve(values.size());
  for (const std::int32_t place : places_) {
    const auto row = values.subspan(static_cast<std::size_t>(place) * width, width);
    out.insert(out.end(), row.begin(), row.end());
  }
  return out;
}

Tensor Continuation::rows(std::int64_t first, std::int64_t count, std::int64_t padded) {
  std::vector<std::int32_t> out(static_cast<std::size_t>(samples_ * padded), 0);
  for (std::size_t s = 0; s < tokens_.size(); ++s)
    std::copy_n(tokens_[s].begin() + first, count, out.begin() + places_[s] * padded);
  return engine_.to_device({HostTensor::of(Shape{samples_, padded}, out)}, InputKind::kState,
                           "tokens");
}

/// Padding follows the last token; a causal model does not attend to it.
Tensor Continuation::all_logits() {
  const std::int64_t count = size() - begin_;
  const Tensor logits = model_.logits(rows(begin_, count, length_));  // [B,T,V]
  return gather(logits,
                engine_.context().scalar(static_cast<double>(count) - 1, DType::kI64, "last"), 1);
}

Tensor Continuation::cached_logits() {
  const std::int64_t first = kept_ > begin_ ? kept_ : begin_;
  const std::int64_t count = size() - first;
  const bool is_next = kept_ > begin_ && count == 1;
  LS_CHECK(is_next || first == begin_, "{} tokens at once after a prompt", count);
  const auto enough = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count)));
  const std::int64_t padded = is_next ? 1 : std::min(std::max(enough, kShortest), length_);
  TraceContext& context = engine_.context();
  cache_.position = context.scalar(static_cast<double>(first - begin_), DType::kI64, "position");
  cache_.last = context.scalar(static_cast<double>(count) - 1, DType::kI64, "last");
  if (is_next && !copied_.empty()) {
    cache_.reorder(engine_.to_device({HostTensor::of(Shape{samples_}, copied_)}, InputKind::kState,
                                     "cache_rows"));
  }
  copied_.clear();
  kept_ = size();
  return model_.next_logits(rows(first, count, padded), cache_);
}

}  // namespace lockstep
