#include "trainer/datasets/synthetic_data.h"

#include "core/base/error.h"
#include "data/images/synthetic_images.h"
#include "data/tokens/synthetic_sequences.h"
#include "data/tokens/synthetic_tokens.h"
#include "data/tokens/token_dataset.h"

namespace lockstep {
namespace {

DatasetPtr make(const OpenContext& context, std::int64_t samples, std::uint64_t stream) {
  const DataNeeds& needs = context.needs;
  const std::uint64_t seed = context.seed + stream;
  if (needs.inputs == "tokens") {
    const std::int64_t length = context.sequence_length;
    return std::make_shared<TokenDataset>(
        std::make_shared<SyntheticTokens>(samples * length + 1, needs.vocab_size, seed), length);
  }
  if (needs.inputs == "masked_tokens" || needs.inputs == "labelled_tokens") {
    using Task = SyntheticSequences::Task;
    const Task task = needs.inputs == "masked_tokens" ? Task::kMasked : Task::kLabelled;
    return std::make_shared<SyntheticSequences>(
        task,
        SyntheticSequences::Sizes{samples, context.sequence_length, needs.vocab_size,
                                  needs.n_classes},
        seed);
  }
  LS_USER_CHECK(needs.inputs == "images",
                "synthetic data is of tokens or images: it cannot make "
                "what this model takes");
  const Shape shape{needs.image[0], needs.image[1], needs.image[2]};
  return std::make_shared<SyntheticImages>(samples, shape, needs.n_classes, seed);
}

}  // namespace

std::vector<Key> SyntheticData::keys() {
  return {{.name = "num_samples",
           .member = bind<&SyntheticData::num_samples>(),
           .range = count_at_least(1),
           .unit = "samples",
           .doc = "Size of the synthetic dataset."}};
}

DataSource SyntheticData::open(const OpenContext& context) const {
  const bool tokens = context.needs.inputs.ends_with("tokens");
  return {.train = make(context, num_samples, 0),
          .validation = make(context, num_samples, 1),
          .vocab_size = tokens ? context.needs.vocab_size : 0,
          .tokens_per_sample = tokens ? context.sequence_length : 0};
}

}  // namespace lockstep
