// Stacks samples into a batch.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "data/samples/dataset.h"
#include "data/samples/padding.h"

namespace lockstep {

/// The longest length among several samples, by field of variable length.
using Lengths = std::map<std::string, std::int64_t>;

/// Every field gets a leading dimension of samples.size(). Fields of variable length are padded at
/// the end of dimension 0, as if the longest sample were at least as long as `longest` says.
/// `indices` (one per sample) are the samples' numbers in the dataset, for messages. Error kData
/// naming field, sample and both shapes (or dtypes) if a sample does not match `fields`.
HostBatch collate(std::span<const Sample> samples, std::span<const std::int64_t> indices,
                  std::span<const FieldSpec> fields, const Padding& padding,
                  const Lengths& longest = {});

}  // namespace lockstep
