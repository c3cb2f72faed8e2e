// The part of HDF5 that lockstep uses, with checked calls: writes groups, tensors, text and
// attributes. Every failure is an Error of the PosixFile's kind that names the file, the object and
// HDF5's innermost message; HDF5 itself prints nothing. Files are read without HDF5: checkpoints by
// hdf5_structure.h, users' files by hdf5_reader.h.
//
// How tensors are stored: f32, f64, f16, i32, i64, u8 as the little-endian HDF5 type of that name
// (f16 is IEEE half, which h5py reads as float16); bf16 as u16 with the attribute dtype = "bf16";
// bool as u8 with the attribute dtype = "bool". Data sets are contiguous and carry no times, so
// that the same contents make the same bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "checkpoint/hdf5_handle.h"
#include "checkpoint/written_bytes.h"
#include "core/base/buffer.h"
#include "core/base/posix_file.h"

namespace lockstep {

using Hdf5Attribute = std::variant<std::int64_t, std::uint64_t, double, std::string>;

/// Whether `name` is valid for a member of a group: '/' would make a group, "." is the group
/// itself, and NUL ends a name.
bool is_storable_name(const std::string& name);

class Hdf5File {
 public:
  /// Starts an HDF5 file in an empty PosixFile, which must outlive it. The first `user_block` bytes
  /// (0, or a power of two from 512) are left to the caller.
  static Hdf5File create(PosixFile& file, std::size_t user_block);

  /// Flushes and closes, and raises errors. Without it the destructor closes and drops errors.
  void close();
  /// All bytes written by create() and later calls, except the elements of large data sets.
  const WrittenBytes& written() const { return *written_; }

  // Objects are named by their path from the root: "/model/h.0.ln_1.weight".
  void create_group(const std::string& path);
  void write_tensor(const std::string& path, const HostTensor& tensor);
  /// A scalar string of variable length. Error if it holds a NUL.
  void write_text(const std::string& path, const std::string& text);
  void set_attribute(const std::string& path, const std::string& name, const Hdf5Attribute& value);

 private:
  Hdf5File(PosixFile& file, std::unique_ptr<WrittenBytes> written, Hdf5Handle handle)
      : file_(&file), written_(std::move(written)), handle_(std::move(handle)) {}
  Hdf5Handle open_object(const std::string& path) const;

  PosixFile* file_;
  std::unique_ptr<WrittenBytes> written_;  // HDF5 holds its address
  Hdf5Handle handle_;
};

}  // namespace lockstep
