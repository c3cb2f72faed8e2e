// What the header of an HDF5 data set says of its elements: their type, shape, where and how they
// are stored.
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
  std::optional<DType> dtype;  ///< what it is read as, an attribute dtype aside
  std::size_t bytes = 0;
  bool is_big_endian = false;
};

/// Where the elements of a chunked data set are looked up.
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
  std::uint64_t single_bytes = 0;  ///< of one chunk, which filters have made of it; 0: none did
  std::uint32_t single_mask = 0;   ///< filters that it did not go through
};

struct StoredFilter {
  enum Id : std::uint16_t { kGzip = 1, kShuffle = 2, kFletcher32 = 3 };
  std::uint16_t id;
  std::uint32_t element_bytes = 0;  ///< of shuffle
};

struct StoredElements {
  enum class Layout : std::uint8_t { kCompact, kContiguous, kChunked } layout = Layout::kContiguous;
  std::vector<std::byte> compact = {};  ///< all elements
  std::uint64_t address = kUndefined;   ///< of contiguous ones; kUndefined: none were written
  std::uint64_t bytes = 0;
  std::vector<std::uint64_t> chunk = {};  ///< elements of a chunk in each dimension
  bool edges_are_filtered = true;         ///< chunks that reach beyond the data set, too
  ChunkIndex index = {};
  std::vector<StoredFilter> filters = {};  ///< of chunks, in the order of writing
};

struct StoredDataset {
  StoredElement element;
  Shape shape;
  /// What each dimension may grow to; nothing: without limit.
  std::vector<std::optional<std::uint64_t>> most_sizes;
  StoredElements elements;
};

/// Reads the messages of a data set's header. Errors, of the file's kind, name file and object:
/// what keeps elements outside of the file (virtual and external storage), filters that are not
/// read here, types shared with other data sets, no shape, or too many dimensions.
StoredDataset decode_dataset(const FileRegions& regions, const std::vector<HeaderMessage>& messages,
                             const std::string& object);

/// A message's type, and how many bytes it takes.
StoredElement decode_element(RegionCursor& in);

/// Raises "FILE: OBJECT ..." for what is no damage but not read either.
[[noreturn]] void refuse(const FileRegions& regions, const std::string& object,
                         const std::string& what);

}  // namespace lockstep
