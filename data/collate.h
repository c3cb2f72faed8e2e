// Stacks samples into a batch.
#pragma once

#include <span>

#include "data/dataset.h"
#include "data/padding.h"

namespace lockstep {

/// Every field gets a leading dimension of samples.size(); fields of variable length are padded at
/// the end of dimension 0. `indices` (one per sample) are the samples' numbers in the dataset, for
/// messages. Error kData naming field, sample and both shapes (or dtypes) if a sample is not what
/// `fields` promises.
HostBatch collate(std::span<const Sample> samples, std::span<const std::int64_t> indices,
                  std::span<const FieldSpec> fields, const Padding& padding);

}  // namespace lockstep
