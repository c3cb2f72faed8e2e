#include "checkpoint/hdf5_handle.h"

#include <hdf5.h>

#include <type_traits>

namespace lockstep {
namespace {

static_assert(std::is_same_v<hid_t, std::int64_t> && std::is_same_v<herr_t, int>,
              "hdf5_handle.h spells these types out");

// Keeps the first message of the walk, which starts at the innermost call.
herr_t keep_innermost(unsigned depth, const H5E_error2_t* error, void* out) {
  if (depth == 0 && error->desc != nullptr) *static_cast<const char**>(out) = error->desc;
  return 0;
}

}  // namespace

QuietHdf5::QuietHdf5() {
  H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

QuietHdf5::~QuietHdf5() {
  H5Eset_auto2(H5E_DEFAULT, print_, data_);
}

std::int64_t check_hdf5(std::int64_t result, const PosixFile& file, std::string_view action,
                        std::string_view object) {
  if (result >= 0) return result;
  const char* innermost = "no message from HDF5";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, static_cast<void*>(&innermost));
  raise(file.error_kind(), "{}: cannot {}{}{}: {}", file.path(), action, object.empty() ? "" : " ",
        object, innermost);
}

Hdf5Handle own_hdf5(std::int64_t id, Hdf5Handle::Close close, const PosixFile& file,
                    std::string_view action, std::string_view object) {
  return {check_hdf5(id, file, action, object), close};
}

}  // namespace lockstep
