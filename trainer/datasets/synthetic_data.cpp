#include "trainer/datasets/synthetic_data.h"

#include <utility>

#include "core/base/error.h"
#include "data/images/synthetic_images.h"
#include "data/tokens/synthetic_sequences.h"
#include "data/tokens/synthetic_tokens.h"
#include "data/tokens/token_dataset.h"

namespace lockstep {
namespace {

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
      task, SyntheticSequences::Sizes{samples, length, needs.vocab_size, needs.n_classes}, seed);
}

}  // namespace

std::vector<Key> SyntheticData::keys() {
  return {{.name = "num_samples",
           .member = bind<&SyntheticData::num_samples>(),
           .range = count_at_least(1),
           .unit = "samples",
           .doc = "Number of samples of the synthetic dataset."}};
}

DataSource SyntheticData::open(const OpenContext& context) const {
  const DataNeeds& needs = context.needs;
  const std::uint64_t seed = context.seed;
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
