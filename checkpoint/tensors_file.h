// Named tensors in a plain HDF5 file, as data sets /<name>: the inputs and outputs of `lockstep ir
// run --input a.h5 --output b.h5`. Types are stored as in hdf5_file.h. Such files come from users
// and carry no digest, so they are read by hdf5_reader.h.
#pragma once

#include <string>

#include "checkpoint/hdf5_reader.h"
#include "checkpoint/state.h"

namespace lockstep {

/// Writes or replaces `path`, whole or not at all. Error kUsage naming the file and the cause.
void write_tensors_file(const std::string& path, const NamedTensors& tensors);

/// All data sets at the top level. Error kUsage naming the file and the cause: missing, not HDF5, a
/// group among the data sets, an unsupported type, more than `max_gb` GiB of elements, elements
/// that are in another file or were never written.
NamedTensors read_tensors_file(const std::string& path, double max_gb = kHdf5Gigabytes);

}  // namespace lockstep
