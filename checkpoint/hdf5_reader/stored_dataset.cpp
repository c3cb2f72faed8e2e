#include "checkpoint/hdf5_reader/stored_dataset.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace lockstep {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kCopy =
    "copy it into one file, with h5py: new['NAME'] = old['NAME'][()]";

StoredElement decode_integer(RegionCursor& in, unsigned flags, std::size_t bytes) {
  const bool is_signed = (flags & 8) != 0;
  const unsigned first = in.number<std::uint16_t>();
  const unsigned bits = in.number<std::uint16_t>();
  StoredElement out{.name = fmt::format("{}{}", is_signed ? 'i' : 'u', bits),
                    .dtype = std::nullopt,
                    .bytes = bytes,
                    .is_big_endian = (flags & 1) != 0};
  if (first != 0 || bits != 8 * bytes) {
    out.name += fmt::format(" in {} bits", 8 * bytes);
    return out;
  }
  if (bytes == 1 && !is_signed) out.dtype = DType::kU8;
  if (bytes == 4 && is_signed) out.dtype = DType::kI32;
  if (bytes == 8 && is_signed) out.dtype = DType::kI64;
  return out;
}

StoredElement decode_float(RegionCursor& in, unsigned flags, std::size_t bytes) {
  struct Format {
    DType dtype;
    std::size_t bytes;
    std::string_view properties;  // bits: offset, total; exponent: place, size; mantissa; bias
    unsigned sign;                // its bit
  };
  static constexpr std::array<Format, 3> kFormats{
      {{DType::kF16, 2, "\x00\x00\x10\x00\x0a\x05\x00\x0a\x0f\x00\x00\x00"sv, 15},
       {DType::kF32, 4, "\x00\x00\x20\x00\x17\x08\x00\x17\x7f\x00\x00\x00"sv, 31},
       {DType::kF64, 8, "\x00\x00\x40\x00\x34\x0b\x00\x34\xff\x03\x00\x00"sv, 63}}};
  const auto properties = in.take(12);
  const std::string_view text(reinterpret_cast<const char*>(properties.data()), properties.size());
  StoredElement out{.name = fmt::format("f{}", 8 * bytes),
                    .dtype = std::nullopt,
                    .bytes = bytes,
                    .is_big_endian = (flags & 1) != 0};
  constexpr unsigned kVaxOrder = 0x40;
  constexpr unsigned kImpliedBit = 0x20;
  for (const Format& format : kFormats)
    if (bytes == format.bytes && text == format.properties && flags >> 8 == format.sign &&
        (flags & kVaxOrder) == 0 && (flags & 0x30) == kImpliedBit)
      out.dtype = format.dtype;
  return out;
}

/// h5py stores NumPy's bool as an 8-bit enumeration {FALSE = 0, TRUE = 1}.
StoredElement decode_enumeration(RegionCursor& in, int version, std::size_t members,
                                 std::size_t bytes) {
  StoredElement out{.name = "an enumeration", .dtype = std::nullopt, .bytes = bytes};
  const StoredElement base = decode_element(in);
  if (base.bytes != 1 || bytes != 1 || members != 2) return out;
  std::array<std::string, 2> names;
  for (std::string& name : names) {
    for (auto c = in.number<std::uint8_t>(); c != 0; c = in.number<std::uint8_t>())
      name += static_cast<char>(c);
    if (version < 3) in.skip(hdf5_padded(name.size() + 1) - name.size() - 1);
  }
  const bool is_bool = std::ranges::all_of(names, [&](const std::string& name) {
    const int value = in.number<std::uint8_t>();
    return (name == "FALSE" && value == 0) || (name == "TRUE" && value == 1);
  });
  if (is_bool && names[0] != names[1]) out.dtype = DType::kBool;
  return out;
}

struct Space {
  bool is_null = false;
  std::vector<std::uint64_t> sizes;
  std::vector<std::optional<std::uint64_t>> max_sizes;
};

Space decode_space(RegionCursor in) {
  Space out;
  const int version = in.number<std::uint8_t>();
  if (version < 1 || version > 2) in.fail("the version of its data space is not known");
  const std::size_t rank = in.number<std::uint8_t>();
  const bool has_max = (in.number<std::uint8_t>() & 1) != 0;
  constexpr int kNull = 2;
  if (version == 2)
    out.is_null = in.number<std::uint8_t>() == kNull;
  else
    in.skip(5);
  for (std::size_t i = 0; i < rank; ++i) out.sizes.push_back(in.number<std::uint64_t>());
  for (std::size_t i = 0; i < rank; ++i) {
    const std::uint64_t max_sizes = has_max ? in.number<std::uint64_t>() : out.sizes[i];
    out.max_sizes.push_back(max_sizes == kUndefined ? std::nullopt : std::optional(max_sizes));
    if (max_sizes < out.sizes[i]) in.fail("it is larger than its maximum size");
  }
  return out;
}

void decode_chunked(RegionCursor& in, int version, StoredElements& out) {
  const unsigned flags = version == 4 ? in.number<std::uint8_t>() : 0;
  const std::size_t dimensions = in.number<std::uint8_t>();
  if (dimensions == 0) in.fail("its chunks have no dimensions");
  if (version == 3) out.index.address = in.number<std::uint64_t>();
  const std::size_t size_bytes = version == 4 ? in.number<std::uint8_t>() : 4;
  if (size_bytes < 1 || size_bytes > 8) in.fail("the sizes of its chunks are impossible");
  for (std::size_t i = 0; i < dimensions; ++i) out.chunk.push_back(in.number_of(size_bytes));
  if (version == 3) return;
  constexpr unsigned kEdgesUnfiltered = 1;
  constexpr unsigned kSingleFiltered = 2;
  out.edges_are_filtered = (flags & kEdgesUnfiltered) == 0;
  using Kind = ChunkIndex::Kind;
  switch (in.number<std::uint8_t>()) {
    case 1:
      out.index.kind = Kind::kSingle;
      if ((flags & kSingleFiltered) != 0) {
        out.index.single_bytes = in.number<std::uint64_t>();
        out.index.single_mask = in.number<std::uint32_t>();
      }
      break;
    case 2: out.index.kind = Kind::kImplicit; break;
    // The rest of the data about these is repeated in their own headers.
    case 3: out.index.kind = Kind::kFixedArray, in.skip(1); break;
    case 4: out.index.kind = Kind::kExtensibleArray, in.skip(5); break;
    case 5: out.index.kind = Kind::kTree2, in.skip(6); break;
    default: in.fail("the kind of its chunks' index is not known");
  }
  out.index.address = in.number<std::uint64_t>();
}

void decode_layout(RegionCursor in, const FileRegions& regions, const std::string& object,
                   StoredElements& out) {
  const int version = in.number<std::uint8_t>();
  if (version != 3 && version != 4)
    refuse(regions, object,
           fmt::format("is stored in a way (layout of version {}) that is not supported; h5repack "
                       "changes it",
                       version));
  switch (in.number<std::uint8_t>()) {
    case 0: {
      out.layout = StoredElements::Layout::kCompact;
      const auto elements = in.take(in.number<std::uint16_t>());
      out.compact.assign(elements.begin(), elements.end());
      return;
    }
    case 1:
      out.layout = StoredElements::Layout::kContiguous;
      out.address = in.number<std::uint64_t>();
      out.bytes = in.number<std::uint64_t>();
      return;
    case 2:
      out.layout = StoredElements::Layout::kChunked;
      decode_chunked(in, version, out);
      return;
    case 3:
      refuse(regions, object,
             fmt::format("is a virtual data set: its elements are those of others, which may be in "
                         "other files; {}",
                         kCopy));
    default: in.fail("its storage layout is not known");
  }
}

std::vector<StoredFilter> decode_filters(RegionCursor in, const FileRegions& regions,
                                         const std::string& object) {
  const int version = in.number<std::uint8_t>();
  if (version != 1 && version != 2) in.fail("the version of its filters is not known");
  const std::size_t count = in.number<std::uint8_t>();
  if (version == 1) in.skip(6);
  constexpr std::size_t kMaxFilters = 32;
  if (count > kMaxFilters) in.fail("it went through too many filters");
  std::vector<StoredFilter> out;
  for (std::size_t i = 0; i < count; ++i) {
    constexpr std::uint16_t kFirstWithName = 256;
    StoredFilter filter{.id = in.number<std::uint16_t>()};
    const bool has_name = version == 1 || filter.id >= kFirstWithName;
    const std::size_t name_bytes = has_name ? in.number<std::uint16_t>() : 0;
    in.skip(2);  // whether it is optional
    const std::size_t values = in.number<std::uint16_t>();
    const auto name = in.take(version == 1 ? hdf5_padded(name_bytes) : name_bytes);
    for (std::size_t j = 0; j < values; ++j)
      if (const auto value = in.number<std::uint32_t>(); j == 0) filter.element_bytes = value;
    if (version == 1 && values % 2 == 1) in.skip(4);
    if (filter.id < StoredFilter::kGzip || filter.id > StoredFilter::kFletcher32) {
      std::string text(reinterpret_cast<const char*>(name.data()), name.size());
      constexpr std::size_t kLongest = 64;
      text.resize(std::min({text.find('\0'), text.size(), kLongest}));
      std::erase_if(text, [](char c) { return c < ' ' || c > '~'; });
      refuse(regions, object,
             fmt::format("went through filter {}{}, which is not supported (gzip, shuffle and "
                         "fletcher32 are); write it anew with compression='gzip'",
                         filter.id, text.empty() ? "" : " (" + text + ")"));
    }
    out.push_back(filter);
  }
  return out;
}

Shape shape_of(const Space& space, const FileRegions& regions, const std::string& object) {
  if (space.is_null) refuse(regions, object, "is an empty data set without a shape");
  if (space.sizes.size() > Shape::kMaxRank)
    refuse(regions, object,
           fmt::format("has {} dimensions; a tensor has at most {}", space.sizes.size(),
                       Shape::kMaxRank));
  Shape out;
  try {
    for (const std::uint64_t size : space.sizes) out.push_back(static_cast<std::int64_t>(size));
  } catch (const Error& error) {
    raise(regions.file().error_kind(), "{}: {}: {}", regions.file().path(), object, error.what());
  }
  return out;
}

/// The last "dimension" of chunks is an element's size.
void check_chunks(const FileRegions& regions, const std::string& object, StoredDataset& out) {
  std::vector<std::uint64_t>& chunk = out.elements.chunk;
  if (out.shape.rank() == 0 || chunk.size() != out.max_sizes.size() + 1 ||
      chunk.back() != out.element.bytes)
    regions.fail(object, "its chunks do not fit its dimensions or elements");
  chunk.pop_back();
  if (std::ranges::count(chunk, 0U) > 0) regions.fail(object, "its chunks are empty");
}

}  // namespace

void refuse(const FileRegions& regions, const std::string& object, const std::string& what) {
  raise(regions.file().error_kind(), "{}: {} {}", regions.file().path(), object, what);
}

StoredElement decode_element(RegionCursor& in) {
  const unsigned kind = in.number<std::uint8_t>();
  const unsigned flags = static_cast<unsigned>(in.number_of(3));
  const std::size_t bytes = in.number<std::uint32_t>();
  switch (kind & 15) {
    case 0: return decode_integer(in, flags, bytes);
    case 1: return decode_float(in, flags, bytes);
    case 8: return decode_enumeration(in, static_cast<int>(kind >> 4), flags & 0xffff, bytes);
    default: break;
  }
  static constexpr std::array<std::string_view, 11> kNames{
      "",        "",           "a time",      "a string", "a bit field",
      "opaque",  "a compound", "a reference", "",         "a variable-length sequence",
      "an array"};
  constexpr unsigned kSequence = 9;
  constexpr unsigned kOfText = 1;
  const bool is_text = (kind & 15) == kSequence && (flags & 15) == kOfText;
  const std::string_view name = (kind & 15) < kNames.size() ? kNames.at(kind & 15) : "unknown";
  return {.name = std::string(is_text ? "a string" : name), .dtype = std::nullopt, .bytes = bytes};
}

StoredDataset decode_dataset(const FileRegions& regions, const std::vector<HeaderMessage>& messages,
                             const std::string& object) {
  const auto find = [&](std::uint16_t kind) -> const HeaderMessage* {
    const auto found = std::ranges::find(messages, kind, &HeaderMessage::kind);
    if (found == messages.end()) return nullptr;
    if (found->is_shared)
      refuse(regions, object,
             fmt::format("shares its type or another property with other data sets; {}", kCopy));
    return &*found;
  };
  const auto body = [&](const HeaderMessage& message) {
    return RegionCursor(regions, object, message.body);
  };
  if (find(HeaderMessage::kExternalFiles) != nullptr)
    refuse(regions, object,
           fmt::format("keeps its elements in other files (external storage); {}", kCopy));
  const HeaderMessage* type = find(HeaderMessage::kDatatype);
  const HeaderMessage* space = find(HeaderMessage::kDataspace);
  const HeaderMessage* layout = find(HeaderMessage::kLayout);
  if (type == nullptr || space == nullptr || layout == nullptr)
    refuse(regions, object, "is not a data set");
  StoredDataset out;
  RegionCursor type_body = body(*type);
  out.element = decode_element(type_body);
  Space decoded = decode_space(body(*space));
  out.shape = shape_of(decoded, regions, object);
  out.max_sizes = std::move(decoded.max_sizes);
  decode_layout(body(*layout), regions, object, out.elements);
  if (const HeaderMessage* filters = find(HeaderMessage::kFilters))
    out.elements.filters = decode_filters(body(*filters), regions, object);
  if (out.elements.layout == StoredElements::Layout::kChunked) check_chunks(regions, object, out);
  return out;
}

}  // namespace lockstep
