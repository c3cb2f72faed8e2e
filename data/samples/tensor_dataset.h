// Samples that are in memory already, as tensors with a leading dimension of samples.
#pragma once

#include <map>
#include <string>

#include "core/base/api.h"
#include "data/samples/dataset.h"

namespace LOCKSTEP_API lockstep {

/// A dataset whose sample i is row i of every field: {"x": f32 [N,2], "y": f32 [N,1]} has samples
/// {"x": f32 [2], "y": f32 [1]}. The tensors must not change any more. Error kUsage if they have no
/// rows, or different numbers of rows.
DatasetPtr tensor_dataset(std::map<std::string, HostTensor> fields);

}  // namespace lockstep
