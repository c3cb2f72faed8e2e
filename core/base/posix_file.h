// A regular file behind checked POSIX calls. Failed writes are stored, not thrown: HDF5 1.10
// crashes at exit when its own writes fail (see hdf5_driver.h). So the file hides the failure from
// HDF5, and the caller asks for it afterwards with check_writes().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/base/activity.h"
#include "core/base/error.h"

namespace lockstep {

class PosixFile {
 public:
  /// Opens an existing regular file for reading. Errors of `kind` name the path and the cause; a
  /// folder, a pipe or a device is refused.
  static PosixFile open(const std::string& path, ErrorKind kind);
  /// Creates a file that must not exist, for reading and writing, and takes its advisory lock where
  /// the file system has locks. If another process has created the name, the result is not
  /// is_open(). `mode` is that of open(2): the process's umask applies. Messages call the file
  /// `name` if given, else by its path.
  static PosixFile create(const std::string& path, ErrorKind kind, unsigned mode = 0666,
                          const std::string& name = "");

  PosixFile(PosixFile&& other) noexcept;
  PosixFile& operator=(PosixFile&&) = delete;
  ~PosixFile();

  /// From now on reports bytes read and written to `activity` as progress, and a flush by name.
  void publish_to(Activity activity) { activity_ = activity; }

  const std::string& path() const { return path_; }
  ErrorKind error_kind() const { return kind_; }
  bool is_open() const { return fd_ >= 0; }
  std::uint64_t size() const;
  /// As other_writers(path), but for the open file.
  std::string other_writers() const;

  /// Reads up to out.size() bytes at `offset`; fewer only at the end of the file.
  std::size_t read(std::uint64_t offset, std::span<std::byte> out) const;

  /// Writes all bytes, or stores the cause of the failure. After a failure nothing more is written.
  void write(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Cuts or extends the file; failures are stored as by write().
  void resize(std::uint64_t bytes);
  /// Reserves `bytes` of disk space, so that a full disk is found before the first byte is written.
  /// Failures other than lack of space are ignored: not every file system can reserve space.
  void reserve(std::uint64_t bytes);
  /// Raises the first failure of the calls above, if there was one.
  void check_writes() const;
  /// True if the first failure was a full disk, an exhausted quota or the file size limit.
  bool ran_out_of_space() const;

  /// Sets owner, group and permissions, as far as this process may.
  void give_to(unsigned user, unsigned group, unsigned mode);

  /// fsync. Returns when the bytes are on the disk.
  void sync();

 private:
  PosixFile(std::string path, std::string name, ErrorKind kind, int fd)
      : path_(std::move(path)), name_(std::move(name)), kind_(kind), fd_(fd) {}
  void fail(int error);

  std::string path_;
  std::string name_;  // in messages
  ErrorKind kind_;
  int fd_;
  int first_error_ = 0;  // errno of the first failed write
  Activity activity_;
};

/// Opens a file that grows, to append to it; made if there is none. A pipe, which may have no
/// reader, is refused; a device is not. Error `kind` naming the path and the cause.
int open_to_append(const std::string& path, ErrorKind kind, unsigned mode = 0666);

/// Which users other than this one and root can change a file or folder: "it belongs to user 1000"
/// or "others can write to it (mode 0777)"; empty if there are none, or if the file does not exist.
std::string other_writers(const std::string& path);

/// Bytes that an unprivileged process may still write to the file system of `folder`.
std::uint64_t free_bytes(const std::string& folder);

/// Flushes a folder's entries (a rename, a removal) to the disk.
void sync_folder(const std::string& folder, ErrorKind kind);

}  // namespace lockstep
