// The first 512 bytes of a checkpoint: an HDF5 user block, which HDF5 and h5py skip. It lets a
// reader trust the rest of the file before HDF5 parses any of it. All numbers are little-endian.
//
//   bytes       what
//   0   .. 15   magic: "lockstep ckpt" CR LF SUB (a transfer that changes line ends changes it)
//   16  .. 19   u32 format version
//   20  .. 23   u32 bytes of this block: 512
//   24  .. 31   u64 bytes of the whole file
//   32  .. 63   SHA-256 of the bytes from 512 to the end
//   64  .. 95   SHA-256 of bytes 0 .. 63
//   96  .. 511  zero
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace lockstep {

inline constexpr std::size_t kHeaderBytes = 512;
inline constexpr std::uint32_t kFormatVersion = 1;

struct HeaderBlock {
  std::uint32_t version = kFormatVersion;
  std::uint64_t file_bytes = 0;
  std::array<std::uint8_t, 32> digest{};  ///< SHA-256 of the rest of the file
};

std::array<std::byte, kHeaderBytes> encode_header(const HeaderBlock& header);

struct DecodedHeader {
  HeaderBlock header;   ///< meaningful if problem is empty
  std::string problem;  ///< the error in the block; empty if there is none
};

/// Decodes the beginning of a file: its first min(512, file_bytes) bytes. Never throws.
DecodedHeader decode_header(std::span<const std::byte> start);

}  // namespace lockstep
