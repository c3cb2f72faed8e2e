#include "data/tokens/synthetic_sequences.h"

#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/rng.h"

namespace lockstep {
namespace {

constexpr std::int32_t kIgnored = -100;  ///< PyTorch's ignore index
constexpr std::uint64_t kMaskedPercent = 15;

/// word / 2^32 of `count`, rounded down.
std::uint64_t scaled(std::uint32_t word, std::uint64_t count) {
  return word * count >> 32;
}

}  // namespace

SyntheticSequences::SyntheticSequences(Task task, const Sizes& sizes, std::uint64_t seed)
    : task_(task), sizes_(sizes), seed_(seed) {
  const bool has_classes = task == Task::kMasked || sizes.n_classes >= 1;
  LS_USER_CHECK(sizes.samples >= 1 && sizes.length >= 1 && sizes.vocab_size >= 1 && has_classes,
                "synthetic sequences: {} samples of {} tokens, a vocabulary of {} and {} classes "
                "must be at least 1 each",
                sizes.samples, sizes.length, sizes.vocab_size, sizes.n_classes);
}

std::vector<FieldSpec> SyntheticSequences::fields() const {
  const Shape shape{Dim(sizes_.length, "length")};
  if (task_ == Task::kLabelled) return {{"tokens", DType::kI32, shape}, {"label", DType::kI32, {}}};
  return {{"tokens", DType::kI32, shape}, {"targets", DType::kI32, shape}};
}

Sample SyntheticSequences::get(std::int64_t index) const {
  check_index(*this, index);
  const auto length = static_cast<std::size_t>(sizes_.length);
  std::vector<std::uint32_t> words(2 * length);  // tokens, then a mask or the label
  random_bits(
      {.seed = seed_, .stream = rng_stream("synthetic_sequences"), .step = 0, .micro_batch = 0},
      static_cast<std::uint64_t>(index) * words.size(), words);
  std::vector<std::int32_t> tokens(length), targets(length, kIgnored);
  for (std::size_t i = 0; i < length; ++i) {
    tokens[i] =
        static_cast<std::int32_t>(scaled(words[i], static_cast<std::uint64_t>(sizes_.vocab_size)));
    const bool masked = scaled(words[length + i], 100) < kMaskedPercent;
    if (task_ == Task::kMasked && masked) targets[i] = std::exchange(tokens[i], 0);
  }
  const Shape shape{Dim(sizes_.length, "length")};
  if (task_ == Task::kMasked)
    return {{"tokens", HostTensor::of(shape, tokens)}, {"targets", HostTensor::of(shape, targets)}};
  const auto label = static_cast<std::int32_t>(
      scaled(words[length], static_cast<std::uint64_t>(sizes_.n_classes)));
  return {{"tokens", HostTensor::of(shape, tokens)}, {"label", HostTensor::scalar(label)}};
}

std::string SyntheticSequences::describe() const {
  return fmt::format("synthetic sequences of {} tokens (vocabulary {}, seed {})", sizes_.length,
                     sizes_.vocab_size, seed_);
}

}  // namespace lockstep
