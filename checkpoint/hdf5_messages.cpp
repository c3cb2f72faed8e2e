#include "checkpoint/hdf5_messages.h"

#include <algorithm>
#include <array>
#include <bit>

namespace lockstep {
namespace {

using namespace std::string_view_literals;

struct TypeRow {
  StoredType type;
  std::size_t bytes;  // of an element
  std::string_view encoding;
};

// Class and version, three bytes of flags (byte order, sign, padding), size, then properties.
constexpr std::array<TypeRow, 9> kTypeRows{{
    {StoredType::kF32, 4,
     "\x11\x20\x1f\x00\x04\x00\x00\x00\x00\x00\x20\x00\x17\x08\x00\x17\x7f\x00\x00\x00"sv},
    {StoredType::kF64, 8,
     "\x11\x20\x3f\x00\x08\x00\x00\x00\x00\x00\x40\x00\x34\x0b\x00\x34\xff\x03\x00\x00"sv},
    {StoredType::kF16, 2,
     "\x11\x20\x0f\x00\x02\x00\x00\x00\x00\x00\x10\x00\x0a\x05\x00\x0a\x0f\x00\x00\x00"sv},
    {StoredType::kI32, 4, "\x10\x08\x00\x00\x04\x00\x00\x00\x00\x00\x20\x00"sv},
    {StoredType::kI64, 8, "\x10\x08\x00\x00\x08\x00\x00\x00\x00\x00\x40\x00"sv},
    {StoredType::kU8, 1, "\x10\x00\x00\x00\x01\x00\x00\x00\x00\x00\x08\x00"sv},
    {StoredType::kU16, 2, "\x10\x00\x00\x00\x02\x00\x00\x00\x00\x00\x10\x00"sv},
    {StoredType::kU64, 8, "\x10\x00\x00\x00\x08\x00\x00\x00\x00\x00\x40\x00"sv},
    {StoredType::kText, 16,
     "\x19\x01\x01\x00\x10\x00\x00\x00\x10\x00\x00\x00\x01\x00\x00\x00\x00\x00\x08\x00"sv},
}};

}  // namespace

std::size_t size_of(StoredType type) {
  return kTypeRows.at(static_cast<std::size_t>(type)).bytes;
}

StoredType decode_type(const RegionCursor& body) {
  for (const TypeRow& row : kTypeRows) {
    RegionCursor rest = body;
    if (rest.remaining() < row.encoding.size()) continue;
    if (std::memcmp(rest.take(row.encoding.size()).data(), row.encoding.data(),
                    row.encoding.size()) != 0) {
      continue;
    }
    rest.expect_padding();
    return row.type;
  }
  body.fail("lockstep does not write its type");
}

Shape decode_shape(RegionCursor body) {
  body.expect("\x01"sv, "the version of its data space");
  const auto rank = body.number<std::uint8_t>();
  const auto flags = body.number<std::uint8_t>();
  body.expect("\0\0\0\0\0"sv, "the kind of its data space");
  if (rank > Shape::kMaxRank) {
    body.fail(fmt::format("it has {} dimensions; a tensor has at most {}", rank, Shape::kMaxRank));
  }
  // A fixed size is written with a maximum size that equals it.
  if (flags != (rank == 0 ? 0 : 1)) body.fail("the flags of its data space are not as expected");
  constexpr auto kLimit = static_cast<std::uint64_t>(Shape::kMaxElements);
  std::array<std::uint64_t, Shape::kMaxRank> sizes{};
  std::int64_t elements = 1;
  Shape shape;
  for (std::size_t i = 0; i < rank; ++i) {
    sizes.at(i) = body.number<std::uint64_t>();
    const auto size = static_cast<std::int64_t>(sizes.at(i));
    if (sizes.at(i) > kLimit || (size > 0 && elements > Shape::kMaxElements / size)) {
      body.fail("it has more elements than can be counted");
    }
    elements *= std::max<std::int64_t>(size, 1);
    shape.push_back(size);
  }
  for (std::size_t i = 0; i < rank; ++i) {
    if (body.number<std::uint64_t>() != sizes.at(i)) body.fail("its size is not fixed");
  }
  body.expect_padding();
  return shape;
}

StoredLayout decode_layout(RegionCursor body) {
  body.expect("\x03\x01"sv, "its storage layout (contiguous)");
  StoredLayout layout{};
  layout.address = body.number<std::uint64_t>();
  layout.bytes = body.number<std::uint64_t>();
  body.expect_padding();
  return layout;
}

void decode_fill_value(RegionCursor body) {
  body.expect("\x02\x02"sv, "the time of its allocation");
  const auto write_time = body.number<std::uint8_t>();  // 0 for text, 2 for tensors
  if (write_time != 0 && write_time != 2)
    body.fail("the time of writing its fill value is not as expected");
  body.expect("\x01\0\0\0\0"sv, "its fill value");
  body.expect_padding();
}

TextReference decode_text_reference(RegionCursor& body) {
  TextReference text{};
  text.bytes = body.number<std::uint32_t>();
  text.address = body.number<std::uint64_t>();
  text.index = body.number<std::uint32_t>();
  return text;
}

StoredAttribute decode_attribute(RegionCursor body) {
  body.expect("\x01\0"sv, "the version of an attribute");
  const std::size_t name_bytes = body.number<std::uint16_t>();
  const std::size_t type_bytes = body.number<std::uint16_t>();
  const std::size_t space_bytes = body.number<std::uint16_t>();
  RegionCursor name = body.sub(hdf5_padded(name_bytes));
  StoredAttribute out;
  if (name_bytes == 0) body.fail("an attribute has no name");
  const auto chars = name.take(name_bytes);
  out.name.assign(reinterpret_cast<const char*>(chars.data()), name_bytes - 1);
  if (chars.back() != std::byte{0} || out.name.find('\0') != std::string::npos) {
    body.fail("the name of an attribute does not end where it should");
  }
  name.expect_padding();
  const StoredType type = decode_type(body.sub(hdf5_padded(type_bytes)));
  if (decode_shape(body.sub(hdf5_padded(space_bytes))).rank() != 0) {
    body.fail(fmt::format("the attribute {} is an array", out.name));
  }
  switch (type) {
    case StoredType::kI64:
      out.value = std::bit_cast<std::int64_t>(body.number<std::uint64_t>());
      break;
    case StoredType::kU64: out.value = body.number<std::uint64_t>(); break;
    case StoredType::kF64: out.value = std::bit_cast<double>(body.number<std::uint64_t>()); break;
    case StoredType::kText: out.value = decode_text_reference(body); break;
    case StoredType::kF32:
    case StoredType::kF16:
    case StoredType::kI32:
    case StoredType::kU8:
    case StoredType::kU16:
      body.fail(
          fmt::format("the attribute {} is of a type that lockstep does not write", out.name));
  }
  body.expect_padding();
  return out;
}

}  // namespace lockstep
