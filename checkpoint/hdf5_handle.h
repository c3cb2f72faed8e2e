// Handles and return codes of the HDF5 C interface. HDF5's ids are 64-bit integers, negative for
// "failed"; this header declares them without including HDF5's headers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/posix_file.h"

namespace lockstep {

/// Owns an HDF5 id and closes it. Closing drops errors; release() the id to see them.
class Hdf5Handle {
 public:
  using Close = int (*)(std::int64_t);
  Hdf5Handle(std::int64_t id, Close close) : id_(id), close_(close) {}
  Hdf5Handle(Hdf5Handle&& other) noexcept
      : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&&) = delete;
  ~Hdf5Handle() {
    if (id_ >= 0) close_(id_);
  }

  std::int64_t id() const { return id_; }
  std::int64_t release() { return std::exchange(id_, -1); }

 private:
  std::int64_t id_;
  Close close_;
};

/// While an object of it exists, HDF5 prints no errors on this thread.
class QuietHdf5 {
 public:
  QuietHdf5();
  ~QuietHdf5();
  QuietHdf5(const QuietHdf5&) = delete;
  QuietHdf5& operator=(const QuietHdf5&) = delete;

 private:
  using Print = int (*)(std::int64_t, void*);
  Print print_ = nullptr;
  void* data_ = nullptr;
};

/// Checks an HDF5 return code, as all of them must be: returns it if it is not negative, else
/// raises the error "FILE: cannot ACTION OBJECT: HDF5's innermost message".
std::int64_t check_hdf5(std::int64_t result, const PosixFile& file, std::string_view action,
                        std::string_view object = "");

/// check_hdf5() for a call that makes an id.
Hdf5Handle own_hdf5(std::int64_t id, Hdf5Handle::Close close, const PosixFile& file,
                    std::string_view action, std::string_view object = "");

}  // namespace lockstep
