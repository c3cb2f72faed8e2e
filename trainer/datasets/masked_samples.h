// Samples for masked language models, with the config's settings.
#pragma once

#include "data/tokens/masking.h"
#include "data/tokens/token_stream.h"
#include "trainer/task/data_source.h"

namespace lockstep {

/// The tokens of `samples`, masked.
DatasetPtr masked(DatasetPtr samples, const OpenContext& context, MaskVocabulary vocabulary);
DatasetPtr masked(DatasetPtr samples, const OpenContext& context, const Tokenizer& tokenizer);

/// A stream cut to the sequence length, special tokens included, and masked; `stride` as in
/// ChunkDataset. Error kUsage without a tokenizer.
DatasetPtr masked_chunks(TokenStreamPtr stream, const OpenContext& context,
                         const TokenizerPtr& tokenizer, std::int64_t stride);

}  // namespace lockstep
