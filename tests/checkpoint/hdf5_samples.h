// HDF5 files as other programs write them, made with the HDF5 library: every way of storing a data
// set that checkpoint/hdf5_reader.h reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::samples {

enum class Hdf5Version : std::uint8_t { kEarliest, kLatest };

/// A data set of u8, f32 or the `type`, whose elements count up from 0.
struct SampleDataset {
  std::string path;
  enum class Type : std::uint8_t { kU8, kF32, kF32BigEndian, kI64 } type = Type::kU8;
  std::vector<std::uint64_t> sizes;
  std::vector<std::uint64_t> chunk = {};      ///< empty: contiguous
  std::vector<std::uint64_t> max_sizes = {};  ///< maximum sizes, 0: unlimited; empty: `sizes`
  bool is_compact = false;
  bool shuffle = false;
  bool gzip = false;
  bool fletcher32 = false;
  bool early = false;  ///< space for all chunks is allocated at once
  /// Rows from here on are not written.
  std::uint64_t written_rows = ~std::uint64_t{0};
};

struct SampleFile {
  Hdf5Version version = Hdf5Version::kEarliest;
  std::uint64_t user_block = 0;
  std::vector<SampleDataset> datasets = {};
  /// Texts as attributes of the first data set.
  std::vector<std::pair<std::string, std::string>> attributes = {};
};

/// Writes the file, or replaces it.
void write_sample(const std::string& path, const SampleFile& file);

/// Adds a link that leads out of an HDF5 file, under `name`.
void add_soft_link(const std::string& path, const std::string& name, const std::string& target);
void add_external_link(const std::string& path, const std::string& name, const std::string& file,
                       const std::string& target);
/// Another name for an object.
void add_hard_link(const std::string& path, const std::string& name, const std::string& target);
/// A virtual data set u8 [n] of the elements of /SOURCE in `file`, "." for the file itself.
void add_virtual(const std::string& path, const std::string& name, std::uint64_t n,
                 const std::string& file, const std::string& source);
/// A data set u8 [n] of the bytes of `file`.
void add_external_storage(const std::string& path, const std::string& name, std::uint64_t n,
                          const std::string& file);

/// Files of every kind, small enough for mutation.
std::vector<SampleFile> small_samples();

}  // namespace lockstep::samples
