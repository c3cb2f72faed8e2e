// Identifies the build of this process. Files that a build writes for its own use are not read by
// other builds, and ranks of different builds do not train together.
#pragma once

#include <string>
#include <vector>

#include "core/base/hash.h"

namespace lockstep {

/// A file that the process computes with.
struct BuildPart {
  std::string name;  ///< "lockstep" for the executable, whatever its file is called; "libdnnl.so.2"
  Hash128 id;
};

/// The executable, by its whole content, then the shared libraries that it is linked to, in its
/// order, and those that liblockstep.so is linked to, if the program uses that; each by the build
/// id that the linker derived from its content, or by the content where there is none. What was
/// loaded by other means (plugins of MPI) is not among them. Error kInternal if the executable
/// cannot be read.
std::vector<BuildPart> build_parts();

/// A hash of all of them: equal for copies of one executable with the same libraries, different as
/// soon as a byte of it was changed. The process reads the files once.
Hash128 build_id();

}  // namespace lockstep
