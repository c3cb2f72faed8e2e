// HDF5's access to a PosixFile: a virtual file driver whose writes never fail in HDF5's eyes.
//
// HDF5 1.10.8 does not survive a failed write: H5Fclose fails, the file stays open inside the
// library, and the process ends with a segmentation fault in HDF5's exit handler (tried with a full
// disk and a file size limit). So the driver lets the PosixFile remember the failure, tells HDF5
// that all went well, and whoever writes asks the PosixFile afterwards. The driver also makes HDF5
// use the very descriptor whose bytes were verified, and take no locks of its own.
#pragma once

#include <cstdint>

#include "core/base/posix_file.h"

namespace lockstep {

/// Makes the HDF5 file access property list `access` use `file`, which must outlive the HDF5 file.
/// Returns a negative number if HDF5 refuses.
int set_hdf5_driver(std::int64_t access, PosixFile& file);

}  // namespace lockstep
