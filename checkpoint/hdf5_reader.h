// Tensors of HDF5 files that users bring, as h5py writes them: contiguous, compact and chunked data
// sets, gzip, shuffle and fletcher32, groups, from the earliest to the latest version of the
// format.
//
// The HDF5 library ends the process with a signal when it meets hostile bytes, follows references
// to any file that this user may read, and gives zeros for what it does not find. So files are read
// without it: each address and length is checked against the file, no part of it is read as two
// things, and what a file claims is compared with a limit before memory is set aside. What is in
// another file (external links, virtual data sets, external storage) is refused by name.
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

/// How much memory the tensors of a file may take, and what changes that: "--max-gb".
struct Hdf5Limit {
  double gigabytes;  ///< of 2^30 bytes
  std::string changed_by;
};
inline constexpr double kHdf5Gigabytes = 16;  ///< as it stands

class Hdf5Reader {
 public:
  /// Reads the file's beginning. Errors, also of the other functions, are of the PosixFile's kind
  /// and name file and object. It must outlive this.
  Hdf5Reader(const PosixFile& file, Hdf5Limit limit);
  ~Hdf5Reader();

  /// Names of the members of the root, which must all be data sets.
  std::vector<std::string> data_sets();
  /// Of the data set at `path` from the root: "/train/images". Error if its type is none of ours;
  /// the message names the type and, where there is one, the way out.
  TensorInfo info(const std::string& path);
  /// Of any byte order; the boolean enumeration that h5py writes is a bool, u16 with the attribute
  /// dtype = "bf16" a bf16, u8 with dtype = "bool" a bool. Error if a part was never written.
  HostTensor read(const std::string& path);

 private:
  class Contents;
  std::unique_ptr<Contents> contents_;
};

}  // namespace lockstep
