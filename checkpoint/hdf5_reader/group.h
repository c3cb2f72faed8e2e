// The members of an HDF5 group: symbol tables, which h5py's libver='earliest' writes, link messages
// in the group's header, or a fractal heap if there are many.
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
  std::string target = {};    ///< of other kinds: a path, "FILE: PATH" for another file
};

/// Whether an object with these messages is a group.
bool is_group(const std::vector<HeaderMessage>& messages);

/// Links by name. The total length of the names is at most that of the file.
std::map<std::string, GroupLink> read_links(FileRegions& regions,
                                            const std::vector<HeaderMessage>& messages,
                                            const std::string& group);

}  // namespace lockstep
