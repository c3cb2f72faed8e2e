// How the element types of tensors are stored in HDF5, and which stored types are read back as
// what.
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

/// The dtype of a data set of HDF5 type `type` with the attribute `attribute` ("" for none). Error
/// naming `object` and its type if it is none of ours.
DType dtype_of_hdf5(std::int64_t type, const std::string& attribute, const PosixFile& file,
                    const std::string& object);

}  // namespace lockstep
