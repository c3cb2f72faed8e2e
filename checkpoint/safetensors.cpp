#include "checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <tuple>

#include "checkpoint/safetensors_header.h"
#include "core/base/atomic_file.h"
#include "core/base/error.h"

namespace lockstep {
namespace {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20U;

struct TypeFacts {
  std::string_view name;
  std::size_t bytes;
  bool is_float;
};
/// By SafetensorsType.
constexpr std::array<TypeFacts, 10> kTypeFacts = {{{"BOOL", 1, false},
                                                   {"U8", 1, false},
                                                   {"I8", 1, false},
                                                   {"I16", 2, false},
                                                   {"F16", 2, true},
                                                   {"BF16", 2, true},
                                                   {"I32", 4, false},
                                                   {"F32", 4, true},
                                                   {"F64", 8, true},
                                                   {"I64", 8, false}}};

const TypeFacts& facts_of(SafetensorsType type) {
  return kTypeFacts.at(static_cast<std::size_t>(type));
}

/// The dtype that a stored type is read as.
DType dtype_of(SafetensorsType type) {
  switch (type) {
    case SafetensorsType::kBool: return DType::kBool;
    case SafetensorsType::kU8: return DType::kU8;
    case SafetensorsType::kI8:
    case SafetensorsType::kI16:
    case SafetensorsType::kI32: return DType::kI32;
    case SafetensorsType::kF16: return DType::kF16;
    case SafetensorsType::kBF16: return DType::kBF16;
    case SafetensorsType::kF32: return DType::kF32;
    case SafetensorsType::kF64: return DType::kF64;
    case SafetensorsType::kI64: return DType::kI64;
  }
  __builtin_unreachable();
}

template <class From, class To, class Convert>
void convert_bytes(std::span<const std::byte> from, To* to, const Convert& convert) {
  for (std::size_t i = 0; i < from.size() / sizeof(From); ++i) {
    From value;
    std::memcpy(&value, from.data() + i * sizeof(From), sizeof(From));
    to[i] = convert(value);
  }
}

void convert_to_f32(SafetensorsType type, std::span<const std::byte> from, float* to) {
  const auto as_is = [](auto value) { return static_cast<float>(value); };
  switch (type) {
    case SafetensorsType::kBool:
      return convert_bytes<std::uint8_t>(from, to, [](auto v) { return v != 0 ? 1.0F : 0.0F; });
    case SafetensorsType::kU8: return convert_bytes<std::uint8_t>(from, to, as_is);
    case SafetensorsType::kI8: return convert_bytes<std::int8_t>(from, to, as_is);
    case SafetensorsType::kI16: return convert_bytes<std::int16_t>(from, to, as_is);
    case SafetensorsType::kF16: return convert_bytes<std::uint16_t>(from, to, float_from_f16);
    case SafetensorsType::kBF16: return convert_bytes<std::uint16_t>(from, to, float_from_bf16);
    case SafetensorsType::kI32: return convert_bytes<std::int32_t>(from, to, as_is);
    case SafetensorsType::kF32: std::memcpy(to, from.data(), from.size()); return;
    case SafetensorsType::kF64: return convert_bytes<double>(from, to, as_is);
    case SafetensorsType::kI64: return convert_bytes<std::int64_t>(from, to, as_is);
  }
}

SafetensorsHeader read_header(const PosixFile& file) {
  const std::uint64_t size = file.size();
  const auto refuse = [&](const std::string& problem) {
    raise(ErrorKind::kCheckpoint, "{}: not a safetensors file: {}", file.path(), problem);
  };
  if (size < kLengthBytes)
    refuse(fmt::format("it has {} bytes, less than the 8 of the header's length", size));
  std::uint64_t length = 0;
  file.read(0, std::as_writable_bytes(std::span(&length, 1)));
  if (length > kMaxHeaderBytes)
    refuse(fmt::format("a header of {} bytes; at most {} are allowed", length, kMaxHeaderBytes));
  if (length > size - kLengthBytes)
    refuse(fmt::format("a header of {} bytes in a file of {}", length, size));
  std::string text(length, '\0');
  file.read(kLengthBytes, std::as_writable_bytes(std::span(text)));
  SafetensorsHeader out;
  try {
    out = parse_safetensors_header(text, size - kLengthBytes - length);
  } catch (const Error& error) {
    refuse(error.what());
  }
  for (SafetensorsEntry& entry : out.tensors) entry.offset += kLengthBytes + length;
  return out;
}

}  // namespace

std::string_view name_of(SafetensorsType type) {
  return facts_of(type).name;
}

std::size_t size_of(SafetensorsType type) {
  return facts_of(type).bytes;
}

bool is_float(SafetensorsType type) {
  return facts_of(type).is_float;
}

SafetensorsType safetensors_type(DType dtype) {
  switch (dtype) {
    case DType::kF32: return SafetensorsType::kF32;
    case DType::kBF16: return SafetensorsType::kBF16;
    case DType::kF16: return SafetensorsType::kF16;
    case DType::kF64: return SafetensorsType::kF64;
    case DType::kI32: return SafetensorsType::kI32;
    case DType::kI64: return SafetensorsType::kI64;
    case DType::kU8: return SafetensorsType::kU8;
    case DType::kBool: return SafetensorsType::kBool;
  }
  __builtin_unreachable();
}

std::string SafetensorsEntry::type_text() const {
  return fmt::format("{}{}", name_of(type), shape);
}

SafetensorsFile::SafetensorsFile(const std::string& path)
    : file_(PosixFile::open(path, ErrorKind::kCheckpoint)) {
  SafetensorsHeader header = read_header(file_);
  tensors_ = std::move(header.tensors);
  metadata_ = std::move(header.metadata);
}

template <class Take>
void SafetensorsFile::read_pieces(const SafetensorsEntry& entry, const Take& take) const {
  std::vector<std::byte> buffer(std::min(entry.bytes, kPieceBytes));
  for (std::uint64_t done = 0; done < entry.bytes;) {
    const std::span<std::byte> part =
        std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), entry.bytes - done));
    if (file_.read(entry.offset + done, part) != part.size())
      raise(ErrorKind::kCheckpoint, "{}: it became shorter after it was opened", path());
    take(done, std::span<const std::byte>(part));
    done += part.size();
  }
}

HostTensor SafetensorsFile::read_f32(const SafetensorsEntry& entry) const {
  HostTensor out(DType::kF32, entry.shape);
  read_pieces(entry, [&](std::uint64_t done, std::span<const std::byte> part) {
    convert_to_f32(entry.type, part, out.as<float>().data() + done / size_of(entry.type));
  });
  return out;
}

HostTensor SafetensorsFile::read(const SafetensorsEntry& entry) const {
  HostTensor out(dtype_of(entry.type), entry.shape);
  read_pieces(entry, [&](std::uint64_t done, std::span<const std::byte> part) {
    const std::size_t element = done / size_of(entry.type);
    switch (entry.type) {
      case SafetensorsType::kI8:
        return convert_bytes<std::int8_t>(part, out.as<std::int32_t>().data() + element,
                                          [](auto v) { return std::int32_t{v}; });
      case SafetensorsType::kI16:
        return convert_bytes<std::int16_t>(part, out.as<std::int32_t>().data() + element,
                                           [](auto v) { return std::int32_t{v}; });
      case SafetensorsType::kBool:
        return convert_bytes<std::uint8_t>(
            part, reinterpret_cast<std::uint8_t*>(out.bytes().data()) + element,
            [](auto v) { return static_cast<std::uint8_t>(v != 0 ? 1 : 0); });
      case SafetensorsType::kU8:
      case SafetensorsType::kF16:
      case SafetensorsType::kBF16:
      case SafetensorsType::kI32:
      case SafetensorsType::kF32:
      case SafetensorsType::kF64:
      case SafetensorsType::kI64: std::memcpy(out.bytes().data() + done, part.data(), part.size());
    }
  });
  return out;
}

void write_safetensors(const std::string& path, std::vector<SafetensorsItem> items,
                       const std::map<std::string, std::string>& metadata,
                       const std::function<HostTensor(const std::string& name)>& read) {
  std::ranges::sort(items, {}, [](const SafetensorsItem& item) {
    return std::tuple(-static_cast<int>(safetensors_type(item.dtype)), item.name);
  });
  SafetensorsHeader header{.tensors = {}, .metadata = metadata};
  std::uint64_t end = 0;
  for (const SafetensorsItem& item : items) {
    const std::uint64_t bytes =
        static_cast<std::uint64_t>(item.shape.elements()) * size_of(item.dtype);
    header.tensors.push_back({item.name, safetensors_type(item.dtype), item.shape, end, bytes});
    end += bytes;
  }
  const std::string text = safetensors_header_text(header);
  LS_CHECK(text.size() <= kMaxHeaderBytes, "{}: a header of {} bytes", path, text.size());
  AtomicFile target(path, ErrorKind::kCheckpoint);
  PosixFile& file = target.file();
  const std::uint64_t length = text.size();
  file.reserve(kLengthBytes + length + end);
  file.write(0, std::as_bytes(std::span(&length, 1)));
  file.write(kLengthBytes, std::as_bytes(std::span(text)));
  for (const SafetensorsEntry& entry : header.tensors) {
    const HostTensor tensor = read(entry.name);
    LS_CHECK(safetensors_type(tensor.dtype()) == entry.type && tensor.shape() == entry.shape,
             "{}: {} is {}{}, not {}", path, entry.name, name_of(tensor.dtype()), tensor.shape(),
             entry.type_text());
    file.write(kLengthBytes + length + entry.offset, tensor.bytes());
    file.check_writes();
  }
  file.check_writes();
  target.commit();
}

std::string quote_name(std::string_view name) {
  constexpr std::size_t kLongest = 120;
  constexpr unsigned char kDelete = 0x7f;
  constexpr unsigned kContinuation = 0x80;  // upper bits of a UTF-8 byte within a character
  std::size_t end = std::min(name.size(), kLongest);
  while (end > 0 && end < name.size() &&
         (static_cast<unsigned>(name[end]) & 0xC0U) == kContinuation)
    --end;
  std::string out = "'";
  for (const char c : name.substr(0, end)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < ' ' || byte == kDelete ? '?' : c;
  }
  return out + (end < name.size() ? "...'" : "'");
}

}  // namespace lockstep
