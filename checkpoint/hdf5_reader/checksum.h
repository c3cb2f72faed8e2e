// The checksum of HDF5's metadata: Bob Jenkins' lookup3 ("hashlittle", public domain, 2006) with an
// initial value of 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/hdf5_reader/file_regions.h"

namespace lockstep {

inline constexpr std::size_t kChecksumBytes = 4;

std::uint32_t lookup3(std::span<const std::byte> bytes);

/// Error unless the last four of `bytes`, which begin at `address`, are the checksum of the others.
/// The message has the checksum's place in the file and the expected value.
void verify_checksum(const FileRegions& regions, std::uint64_t address,
                     std::span<const std::byte> bytes, const std::string& object);

/// Claims and reads bytes that end with their checksum.
std::vector<std::byte> read_summed(FileRegions& regions, std::uint64_t address, std::uint64_t bytes,
                                   const std::string& object);

}  // namespace lockstep
