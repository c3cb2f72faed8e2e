#include "checkpoint/hdf5_version.h"

#include <fmt/format.h>
#include <hdf5.h>

namespace lockstep {

std::string hdf5_version() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  if (H5get_libversion(&major, &minor, &release) < 0) return "unknown";
  return fmt::format("{}.{}.{}", major, minor, release);
}

}  // namespace lockstep
