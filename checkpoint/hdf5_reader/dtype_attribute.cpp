#include "checkpoint/hdf5_reader/dtype_attribute.h"

#include <algorithm>
#include <optional>

#include "checkpoint/hdf5_reader/btree2.h"
#include "checkpoint/hdf5_reader/fractal_heap.h"
#include "checkpoint/hdf5_reader/stored_dataset.h"

namespace lockstep {
namespace {

constexpr std::size_t kLongest = 64;

std::string terminated_text(std::span<const std::byte> bytes) {
  std::string out(reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), kLongest));
  out.resize(std::min(out.find('\0'), out.size()));
  return out;
}

std::size_t padded(std::size_t bytes, int version) {
  return version == 1 ? hdf5_padded(bytes) : bytes;
}

/// The number of elements of a data space; 0 for one without elements.
std::uint64_t elements_of(RegionCursor in) {
  const int version = in.number<std::uint8_t>();
  const std::size_t rank = in.number<std::uint8_t>();
  in.skip(1);
  constexpr int kNull = 2;
  const int kind = in.number<std::uint8_t>();
  if (version == 2 && kind == kNull) return 0;
  if (version == 1) in.skip(4);
  std::uint64_t out = 1;
  for (std::size_t i = 0; i < rank; ++i)
    if (__builtin_mul_overflow(out, in.number<std::uint64_t>(), &out)) return 0;
  return out;
}

/// The text of this attribute, if its name is dtype and it has one.
std::optional<std::string> read_attribute(RegionCursor in, GlobalHeap& texts) {
  const int version = in.number<std::uint8_t>();
  if (version < 1 || version > 3) in.fail("the version of an attribute is not known");
  const unsigned flags = in.number<std::uint8_t>();
  const std::size_t name_bytes = in.number<std::uint16_t>();
  const std::size_t type_bytes = in.number<std::uint16_t>();
  const std::size_t space_bytes = in.number<std::uint16_t>();
  if (version == 3) in.skip(1);  // the character set
  const auto name = in.take(padded(name_bytes, version)).first(name_bytes);
  constexpr unsigned kShared = 3;
  if (terminated_text(name) != "dtype" || (version > 1 && (flags & kShared) != 0))
    return std::nullopt;
  RegionCursor type = in.sub(padded(type_bytes, version));
  const unsigned kind = type.number<std::uint8_t>() & 15;
  const auto bits = type.number_of(3);
  const std::size_t bytes = type.number<std::uint32_t>();
  if (elements_of(in.sub(padded(space_bytes, version))) != 1) return std::nullopt;
  constexpr unsigned kText = 3;
  constexpr unsigned kSequence = 9;
  constexpr unsigned kOfText = 1;
  if (kind == kText) return terminated_text(in.take(bytes));
  if (kind != kSequence || (bits & 15) != kOfText) return std::nullopt;
  const auto length = in.number<std::uint32_t>();
  const auto address = in.number<std::uint64_t>();
  const auto index = in.number<std::uint32_t>();
  const std::span<const std::byte> text =
      length == 0 ? std::span<const std::byte>{} : texts.find(address, index);
  return terminated_text(text.first(std::min<std::size_t>(text.size(), length)));
}

}  // namespace

std::string dtype_attribute(FileRegions& regions, GlobalHeap& texts,
                            const std::vector<HeaderMessage>& messages, const std::string& object) {
  std::optional<std::string> out;
  for (const HeaderMessage& message : messages) {
    RegionCursor in(regions, object, message.body);
    if (message.kind == HeaderMessage::kAttribute && !message.is_shared && !out)
      out = read_attribute(in, texts);
    if (message.kind != HeaderMessage::kAttributeInfo) continue;
    in.skip(1);
    constexpr unsigned kHasOrder = 1;
    if ((in.number<std::uint8_t>() & kHasOrder) != 0) in.skip(2);
    const auto heap_address = in.number<std::uint64_t>();
    const auto tree = in.number<std::uint64_t>();
    if (heap_address == kUndefined) continue;
    const FractalHeap heap(regions, heap_address, object);
    for_each_record(regions, tree, object, [&](RegionCursor record, int) {
      const std::optional<RegionCursor> attribute = heap.find(record.sub(heap.id_bytes()));
      if (attribute && !out) out = read_attribute(*attribute, texts);
    });
  }
  return out.value_or("");
}

}  // namespace lockstep
