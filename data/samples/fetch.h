// One batch from a dataset: what a loader's worker does.
#pragma once

#include <span>

#include "core/base/hash.h"
#include "core/base/spans.h"
#include "data/samples/collate.h"
#include "data/samples/dataset.h"
#include "data/samples/padding.h"

namespace lockstep {

/// dataset.get(index). Whatever goes wrong becomes an Error(kData) that names the sample, its file
/// (if it has one) and the cause. Thread-safe.
Sample fetch_sample(const Dataset& dataset, std::int64_t index);

struct FetchedBatch {
  HostBatch fields;
  /// By row of the batch, what is wrong with a sample that could not be read, where another took
  /// its place.
  std::map<std::size_t, std::string> skipped = {};

  /// All of these, in order.
  std::vector<std::string> reasons() const;
};

/// Samples `indices` as they are drawn with `key`, mixed and collated, with `longest` as collate()
/// has it. Errors as above. Thread-safe. `spans` is told how long samples and batch took; null:
/// nobody is.
FetchedBatch fetch_batch(const Dataset& dataset, std::span<const std::int64_t> indices,
                         const DrawKey& key, const Padding& padding, const Lengths& longest = {},
                         SpanStream* spans = nullptr);

/// The longest of these samples, by field of variable length. Errors as above.
Lengths longest_of(const Dataset& dataset, std::span<const std::int64_t> indices);

/// Of the names, types, shapes and bytes of the fields of sample `index`. Errors as above.
Hash128 hash_sample(const Dataset& dataset, std::int64_t index);

}  // namespace lockstep
