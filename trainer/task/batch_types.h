// What batches look like on the device, known without fetching one, and what they take of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/ir/graph.h"
#include "data/samples/dataset.h"
#include "data/samples/padding.h"

namespace lockstep {

using BatchTypes = std::map<std::string, Type>;

/// The fields of a batch of so many samples, padded to the longest that `padding`, whose buckets
/// are there, ever pads to.
BatchTypes train_batch_types(const Dataset& dataset, const Padding& padding, std::int64_t samples);
/// The same of the evaluation loader, which adds a mask.
BatchTypes eval_batch_types(const Dataset& dataset, const Padding& padding, std::int64_t samples);

/// Device memory of one such batch, as the allocator counts it.
std::int64_t batch_bytes(const BatchTypes& batch);

}  // namespace lockstep
