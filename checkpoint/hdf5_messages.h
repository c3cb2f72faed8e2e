// The messages of HDF5 object headers in lockstep's files, decoded byte by byte (HDF5 File Format
// Specification 3.0, IV.A.2). The HDF5 library crashes on hostile bytes; this code refuses anything
// that lockstep does not write.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "checkpoint/hdf5_reader/file_regions.h"
#include "core/base/dtype.h"
#include "core/base/shape.h"

namespace lockstep {

/// Element types: of tensors as in hdf5_file.h (bf16 is kU16 and a bool kU8, before the attribute
/// dtype is read), of attributes, and text.
enum class StoredType : std::uint8_t { kF32, kF64, kF16, kI32, kI64, kU8, kU16, kU64, kText };

std::size_t size_of(StoredType type);

/// The location of a text: object `index` of the global heap collection at `address`.
struct TextReference {
  std::uint32_t bytes;
  std::uint64_t address;
  std::uint32_t index;
};

/// The location of a data set.
struct StoredLayout {
  std::uint64_t address;  ///< kNoAddress if there are no elements
  std::uint64_t bytes;
};
inline constexpr std::uint64_t kNoAddress = ~std::uint64_t{0};

struct StoredAttribute {
  std::string name;
  std::variant<std::int64_t, std::uint64_t, double, TextReference> value;
};

// Each reads one message's body to its end. Errors of the cursor.
StoredType decode_type(const RegionCursor& body);
Shape decode_shape(RegionCursor body);
StoredLayout decode_layout(RegionCursor body);
void decode_fill_value(RegionCursor body);
StoredAttribute decode_attribute(RegionCursor body);
/// The element of a text: length, collection, index.
TextReference decode_text_reference(RegionCursor& body);

}  // namespace lockstep
