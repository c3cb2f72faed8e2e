// How the element types of tensors are stored in HDF5.
#pragma once

#include <string>

#include "checkpoint/hdf5_handle.h"
#include "core/base/dtype.h"

namespace lockstep {

/// The HDF5 type of a dtype's stored elements, in the file as in memory.
Hdf5Handle hdf5_type_of(DType dtype, const PosixFile& file);

/// The value of the attribute "dtype" that a dtype needs beside its HDF5 type: "bf16", "bool", or
/// "" for none.
std::string dtype_attribute_of(DType dtype);

}  // namespace lockstep
