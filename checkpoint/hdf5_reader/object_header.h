// The superblock of an HDF5 file, and the headers of its objects: lists of messages that describe
// an object. Supports the versions of all HDF5 libraries, which h5py's libver='earliest' and
// 'latest' select. Source for everything in this folder: HDF5 File Format Specification 3.0.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/hdf5_reader/file_regions.h"
#include "core/base/posix_file.h"

namespace lockstep {

struct HeaderMessage {
  /// As in the specification, IV.A.2: the kinds that readers need.
  enum Kind : std::uint16_t {
    kDataspace = 0x0001,
    kLinkInfo = 0x0002,
    kDatatype = 0x0003,
    kLink = 0x0006,
    kExternalFiles = 0x0007,
    kLayout = 0x0008,
    kFilters = 0x000b,
    kAttribute = 0x000c,
    kContinuation = 0x0010,
    kSymbolTable = 0x0011,
    kDriverInfo = 0x0014,
    kAttributeInfo = 0x0015,
  };
  std::uint16_t kind;
  bool is_shared;  ///< the body has the place of the message in the file
  std::vector<std::byte> body;
};

/// The offset of the HDF5 part of the file, after a user block. Error if there is none.
std::uint64_t find_superblock(const PosixFile& file);

/// The address of the root group's header. Error if the file is truncated, is one of several that
/// belong together, or was not closed by its writer.
std::uint64_t read_superblock(FileRegions& regions);

/// All messages, also those of continuation blocks, without unused space.
std::vector<HeaderMessage> read_object_header(FileRegions& regions, std::uint64_t address,
                                              const std::string& object);

/// "No address": the object does not exist.
inline constexpr std::uint64_t kUndefined = ~std::uint64_t{0};

}  // namespace lockstep
