// HDF5's access to a PosixFile: a virtual file driver that never reports a failed write to HDF5.
//
// HDF5 1.10.8 does not survive a failed write: H5Fclose fails, the file stays open inside the
// library, and the process ends with a segmentation fault in HDF5's exit handler (tried with a full
// disk and a file size limit). So the PosixFile records the failure, the driver reports success to
// HDF5, and the caller checks the PosixFile afterwards. The driver also makes HDF5 use the
// descriptor that the caller holds, and take no locks of its own. Reads of a file under
// construction are served from memory, so they cannot fail either.
#pragma once

#include <cstdint>

#include "checkpoint/written_bytes.h"
#include "core/base/posix_file.h"

namespace lockstep {

/// Makes the HDF5 file access property list `access` use `file`, which must be new. Everything
/// except the elements of large data sets is recorded in `written`. Both must outlive the HDF5
/// file. Returns a negative number if HDF5 refuses.
int set_hdf5_driver(std::int64_t access, PosixFile& file, WrittenBytes& written);

}  // namespace lockstep
