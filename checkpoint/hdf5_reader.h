// Tensors of users' HDF5 files, as h5py writes them: contiguous, compact and chunked data sets,
// gzip, shuffle and fletcher32, groups, from the earliest to the latest version of the format.
//
// The HDF5 library ends the process with a signal on hostile bytes, follows references to any file
// that this user may read, and returns zeros for missing data. So files are read without it: each
// address and length is checked against the file, no part of it is read as two things, and sizes
// that a file claims are compared with a limit before memory is allocated. Data in another file
// (external links, virtual data sets, external storage) is refused, and the message names it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/posix_file.h"

namespace lockstep {

struct TensorInfo {
  DType dtype;
  Shape shape;
};

/// Maximum memory for the tensors of a file, and the option that changes it: "--max-gb".
struct Hdf5Limit {
  double gigabytes;  ///< of 2^30 bytes
  std::string changed_by;
};
inline constexpr double kHdf5Gigabytes = 16;  ///< the default

class Hdf5Reader {
 public:
  /// Reads the beginning of the file. Errors, also of the other functions, are of the PosixFile's
  /// kind and name file and object. The file must outlive this.
  Hdf5Reader(const PosixFile& file, Hdf5Limit limit);
  ~Hdf5Reader();

  /// Names of the members of the root, which must all be data sets.
  std::vector<std::string> data_sets();
  /// The data set at `path` from the root: "/train/images". Error if its type is not supported; the
  /// message names the type and, if there is one, the remedy.
  TensorInfo info(const std::string& path);
  /// In any byte order. The boolean enumeration that h5py writes becomes bool; u16 with the
  /// attribute dtype = "bf16" becomes bf16, u8 with dtype = "bool" bool. Error if a part was never
  /// written.
  HostTensor read(const std::string& path);

 private:
  class Contents;
  std::unique_ptr<Contents> contents_;
};

}  // namespace lockstep
