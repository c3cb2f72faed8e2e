#include "trainer/datasets/synthetic_data.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "core/base/error.h"
#include "data/captions/synthetic_captions.h"
#include "data/images/synthetic_images.h"
#include "data/tokens/synthetic_sequences.h"
#include "data/tokens/synthetic_tokens.h"
#include "data/tokens/token_dataset.h"
#include "trainer/datasets/caption_tokens.h"

namespace lockstep {
namespace {

/// Two where the model takes the number from its data, which names none.
std::int64_t number_of_classes(const DataNeeds& needs) {
  return needs.n_classes == 0 && !needs.classes_key.empty() ? 2 : needs.n_classes;
}

DatasetPtr make_sequences(const OpenContext& context, std::int64_t samples, std::uint64_t seed) {
  const DataNeeds& needs = context.needs;
  const std::int64_t length = context.sequence_length;
  if (needs.inputs == "tokens")
    return std::make_shared<TokenDataset>(
        std::make_shared<SyntheticTokens>(samples * length + 1, needs.vocab_size, seed), length);
  LS_USER_CHECK(needs.inputs == "masked_tokens" || needs.inputs == "labelled_tokens",
                "synthetic data has tokens or images only, but this model takes other inputs");
  using Task = SyntheticSequences::Task;
  const Task task = needs.inputs == "masked_tokens" ? Task::kMasked : Task::kLabelled;
  return std::make_shared<SyntheticSequences>(
      task, SyntheticSequences::Sizes{samples, length, needs.vocab_size, number_of_classes(needs)},
      seed);
}

double mean_of(std::span<const LengthShare> shares, std::int64_t at_most) {
  double sum = 0;
  for (const auto& [min, max, probability] : shares)
    sum += probability * static_cast<double>(std::min(min, at_most) + std::min(max, at_most)) / 2;
  return sum;
}

DataSource open_captions(const SyntheticData& data, const OpenContext& context) {
  const DataNeeds& needs = context.needs;
  const std::int64_t most = context.sequence_length;
  LS_USER_CHECK(most > 0, "synthetic captions need a model with a sequence length");
  const std::int64_t longest = longest_of(data.lengths);
  LS_USER_CHECK(longest <= most || data.lengths == SyntheticData{}.lengths,
                "'data.lengths' has captions of {} tokens, but a sample takes at most {}", longest,
                most);
  const SyntheticCaptions::Sizes sizes{
      .samples = data.num_samples,
      .image = Shape{needs.image[0], needs.image[1], needs.image[2]},
      .vocab_size = needs.vocab_size,
      .lengths = data.lengths,
      .max_length = most};
  const CaptionFrame frame = caption_frame(needs);
  return {.train = std::make_shared<SyntheticCaptions>(sizes, frame, context.seed),
          .validation = std::make_shared<SyntheticCaptions>(sizes, frame, context.seed + 1),
          .vocab_size = needs.vocab_size,
          .tokens_per_sample = std::llround(mean_of(data.lengths, most))};
}

}  // namespace

std::vector<Key> SyntheticData::keys() {
  return {{.name = "num_samples",
           .member = bind<&SyntheticData::num_samples>(),
           .range = count_at_least(1),
           .unit = "samples",
           .doc = "Number of samples of the synthetic dataset."},
          {.name = "lengths",
           .member = bind<&SyntheticData::lengths>(),
           .range = size_at_least(1),
           .unit = "tokens",
           .doc = "Lengths of captions with their end, for models that caption images: ranges and "
                  "their probabilities; the lengths of a range are equally likely. The default is "
                  "cut to the sequence length."}};
}

DataSource SyntheticData::open(const OpenContext& context) const {
  const DataNeeds& needs = context.needs;
  const std::uint64_t seed = context.seed;
  if (needs.inputs == "captioned_images") return open_captions(*this, context);
  LS_USER_CHECK(lengths == SyntheticData{}.lengths,
                "'data.lengths' is for models that caption images");
  if (needs.inputs == "images") {
    const Shape shape{needs.image[0], needs.image[1], needs.image[2]};
    auto train = std::make_shared<SyntheticImages>(num_samples, shape, needs.n_classes, seed);
    auto validation = std::make_shared<SyntheticImages>(train->others(num_samples, seed + 1));
    return {.train = std::move(train), .validation = std::move(validation)};
  }
  return {.train = make_sequences(context, num_samples, seed),
          .validation = make_sequences(context, num_samples, seed + 1),
          .vocab_size = needs.vocab_size,
          .tokens_per_sample = context.sequence_length};
}

}  // namespace lockstep
