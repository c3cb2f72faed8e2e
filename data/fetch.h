// One batch from a dataset: what a loader's worker does.
#pragma once

#include <span>

#include "data/dataset.h"
#include "data/padding.h"

namespace lockstep {

/// Samples `indices`, collated. Whatever goes wrong becomes an Error(kData) that names the sample,
/// its file (if it has one) and the cause. Thread-safe.
Batch fetch_batch(const Dataset& dataset, std::span<const std::int64_t> indices,
                  const Padding& padding);

}  // namespace lockstep
