// The members of an HDF5 group: as symbol tables, which h5py's libver='earliest' writes, as link
// messages in its header, or in a fractal heap, if there are many.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/hdf5_reader/file_regions.h"
#include "checkpoint/hdf5_reader/object_header.h"

namespace lockstep {

struct GroupLink {
  enum class Kind : std::uint8_t { kObject, kSoft, kExternal, kOther } kind;
  std::uint64_t address = 0;  ///< of an object's header
  std::string target = {};    ///< of others: a path, "FILE: PATH" of another file's
};

/// Whether an object with these messages is a group.
bool is_group(const std::vector<HeaderMessage>& messages);

/// By name. The names are no longer together than the file.
std::map<std::string, GroupLink> read_links(FileRegions& regions,
                                            const std::vector<HeaderMessage>& messages,
                                            const std::string& group);

}  // namespace lockstep
