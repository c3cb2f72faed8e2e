// The types of a batch's fields on the device, computed without a batch, and their memory.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/ir/graph.h"
#include "data/samples/dataset.h"
#include "data/samples/padding.h"

namespace lockstep {

using BatchTypes = std::map<std::string, Type>;

/// The fields of a batch of `samples` samples, padded to the maximum length of `padding`, whose
/// buckets must be set.
BatchTypes train_batch_types(const Dataset& dataset, const Padding& padding, std::int64_t samples);
/// The same for the evaluation loader, which adds a mask.
BatchTypes eval_batch_types(const Dataset& dataset, const Padding& padding, std::int64_t samples);

/// The dimensions of batches that loaders pad, for reports: "batch.tokens[length]", where inputs
/// are named "batch." and the field.
std::vector<std::string> padded_dimensions(const Dataset& dataset, const Padding& padding,
                                           std::string_view prefix);

/// Device memory of one such batch in bytes, as the allocator counts it.
std::int64_t batch_bytes(const BatchTypes& batch);

}  // namespace lockstep
