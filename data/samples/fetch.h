// Fetches one batch from a dataset: the work of a loader's worker.
#pragma once

#include <span>

#include "core/base/hash.h"
#include "core/base/spans.h"
#include "data/samples/collate.h"
#include "data/samples/dataset.h"
#include "data/samples/padding.h"

namespace lockstep {

/// dataset.get(index). Any failure becomes an Error(kData) that names the sample, its file (if it
/// has one) and the cause. Thread-safe.
Sample fetch_sample(const Dataset& dataset, std::int64_t index);

struct FetchedBatch {
  HostBatch fields;
  /// By row of the batch, why a sample that was replaced by another one could not be read.
  std::map<std::size_t, std::string> skipped = {};

  /// All of these reasons, in order.
  std::vector<std::string> reasons() const;
};

/// Samples `indices`, drawn with `key`, mixed and collated; `longest` as for collate(). Errors as
/// above. Thread-safe. `spans` receives the durations of samples and batch; null: nobody does.
FetchedBatch fetch_batch(const Dataset& dataset, std::span<const std::int64_t> indices,
                         const DrawKey& key, const Padding& padding, const Lengths& longest = {},
                         SpanStream* spans = nullptr);

/// The longest length among these samples, by field of variable length. Errors as above.
Lengths longest_of(const Dataset& dataset, std::span<const std::int64_t> indices);

/// Hash of the names, types, shapes and bytes of the fields of sample `index`. Errors as above.
Hash128 hash_sample(const Dataset& dataset, std::int64_t index);

}  // namespace lockstep
