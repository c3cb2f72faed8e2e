#include "trainer/datasets/masked_samples.h"

#include <utility>

#include "core/base/error.h"
#include "data/tokens/chunk_dataset.h"

namespace lockstep {

DatasetPtr masked(DatasetPtr samples, const OpenContext& context, MaskVocabulary vocabulary) {
  const Masking masking{.probability = context.mlm_probability,
                        .whole_words = context.mlm_whole_words};
  return std::make_shared<MaskedDataset>(std::move(samples), std::move(vocabulary), masking);
}

DatasetPtr masked(DatasetPtr samples, const OpenContext& context, const Tokenizer& tokenizer) {
  return masked(std::move(samples), context, MaskVocabulary::of(tokenizer));
}

DatasetPtr masked_chunks(TokenStreamPtr stream, const OpenContext& context,
                         const TokenizerPtr& tokenizer, std::int64_t stride) {
  LS_USER_CHECK(tokenizer != nullptr,
                "data for a masked language model needs a tokenizer, which has the mask token");
  return masked(
      std::make_shared<ChunkDataset>(std::move(stream), tokenizer, context.sequence_length, stride),
      context, *tokenizer);
}

}  // namespace lockstep
