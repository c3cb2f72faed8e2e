// The header of an HDF5 data set describes its elements: their type, shape, place and storage.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/hdf5_reader/file_regions.h"
#include "checkpoint/hdf5_reader/object_header.h"
#include "core/base/dtype.h"
#include "core/base/shape.h"

namespace lockstep {

/// The type of elements.
struct StoredElement {
  std::string name;            ///< "u16", "i8", "f128", "a string"
  std::optional<DType> dtype;  ///< the type it is read as, without an attribute dtype
  std::size_t bytes = 0;
  bool is_big_endian = false;
};

/// The index of the chunks of a chunked data set.
struct ChunkIndex {
  enum class Kind : std::uint8_t {
    kTree1,
    kSingle,
    kImplicit,
    kFixedArray,
    kExtensibleArray,
    kTree2
  } kind = Kind::kTree1;
  std::uint64_t address = kUndefined;
  std::uint64_t single_bytes = 0;  ///< of a single chunk after its filters; 0: no filters
  std::uint32_t single_mask = 0;   ///< filters that were not applied to it
};

struct StoredFilter {
  enum Id : std::uint16_t { kGzip = 1, kShuffle = 2, kFletcher32 = 3 };
  std::uint16_t id;
  std::uint32_t element_bytes = 0;  ///< of shuffle
};

struct StoredElements {
  enum class Layout : std::uint8_t { kCompact, kContiguous, kChunked } layout = Layout::kContiguous;
  std::vector<std::byte> compact = {};  ///< all elements
  std::uint64_t address = kUndefined;   ///< of contiguous elements; kUndefined: none were written
  std::uint64_t bytes = 0;
  std::vector<std::uint64_t> chunk = {};  ///< elements of a chunk in each dimension
  bool edges_are_filtered = true;         ///< including chunks that reach beyond the data set
  ChunkIndex index = {};
  std::vector<StoredFilter> filters = {};  ///< of chunks, in the order of writing
};

struct StoredDataset {
  StoredElement element;
  Shape shape;
  /// Maximum size of each dimension; nothing: unlimited.
  std::vector<std::optional<std::uint64_t>> max_sizes;
  StoredElements elements;
};

/// Reads the messages of a data set's header. Errors, of the file's kind, name file and object:
/// elements outside of the file (virtual and external storage), unsupported filters, types shared
/// with other data sets, no shape, or too many dimensions.
StoredDataset decode_dataset(const FileRegions& regions, const std::vector<HeaderMessage>& messages,
                             const std::string& object);

/// The type in a message, and its size in bytes.
StoredElement decode_element(RegionCursor& in);

/// Raises "FILE: OBJECT ..." for undamaged data that is not supported.
[[noreturn]] void refuse(const FileRegions& regions, const std::string& object,
                         const std::string& what);

}  // namespace lockstep
