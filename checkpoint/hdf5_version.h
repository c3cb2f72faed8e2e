// The HDF5 library that checkpoints are written and read with.
#pragma once

#include <string>

namespace lockstep {

/// "1.10.8"
std::string hdf5_version();

}  // namespace lockstep
