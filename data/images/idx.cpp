#include "data/images/idx.h"

#include <fmt/ranges.h>

#include "core/base/error.h"

namespace lockstep {
namespace {

constexpr std::uint8_t kU8 = 0x08;

struct IdxArray {
  std::vector<std::int64_t> sizes;
  std::vector<std::uint8_t> elements;
};

/// Reads the header. Error kData if it is not the header of a u8 array of `low` to `high`
/// dimensions.
std::vector<std::int64_t> read_sizes(ByteReader& reader, std::size_t low, std::size_t high) {
  const auto magic = reader.read(4);
  if (magic.size() < 4) {
    raise(ErrorKind::kData, "{}: truncated: an IDX header needs at least 8 bytes, the file has {}",
          reader.path(), magic.size());
  }
  if (magic[0] != 0 || magic[1] != 0 || magic[2] != kU8) {
    raise(ErrorKind::kData,
          "{}: not an IDX file of bytes: it begins with {:02x} {:02x} {:02x} instead of 00 00 08",
          reader.path(), magic[0], magic[1], magic[2]);
  }
  const std::size_t rank = magic[3];
  if (rank < low || rank > high) {
    raise(ErrorKind::kData, "{}: the IDX array has {} dimensions, but {} needed", reader.path(),
          rank, low == high ? fmt::format("{} is", low) : fmt::format("{} to {} are", low, high));
  }
  const auto header = reader.read(4 * rank);
  if (header.size() < 4 * rank) {
    raise(ErrorKind::kData, "{}: truncated: the IDX header needs {} bytes, the file has {}",
          reader.path(), 4 + 4 * rank, 4 + header.size());
  }
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < header.size(); i += 4) {
    sizes.push_back(std::int64_t{header[i]} << 24 | header[i + 1] << 16 | header[i + 2] << 8 |
                    header[i + 3]);
  }
  return sizes;
}

std::string join(const std::vector<std::int64_t>& sizes) {
  return fmt::format("{}", fmt::join(sizes, " x "));
}

std::uint64_t product(const std::string& path, const std::vector<std::int64_t>& sizes) {
  std::uint64_t out = 1;
  for (const std::int64_t size : sizes) {
    if (__builtin_mul_overflow(out, static_cast<std::uint64_t>(size), &out)) {
      raise(ErrorKind::kData, "{}: the header says {} elements, which no file can hold", path,
            join(sizes));
    }
  }
  return out;
}

IdxArray read_array(const std::string& path, std::size_t low, std::size_t high,
                    std::int64_t max_bytes) {
  ByteReader reader(path, max_bytes);
  IdxArray out;
  out.sizes = read_sizes(reader, low, high);
  const std::uint64_t expected = product(path, out.sizes);
  if (expected > reader.max_bytes())
    raise(ErrorKind::kData, "{}: the header says {} elements, more than data.max_file_mb: {}", path,
          join(out.sizes), max_bytes >> 20);
  out.elements = reader.read(expected);
  const std::uint64_t actual = out.elements.size() + reader.skip_to_end();
  if (actual != expected) {
    raise(ErrorKind::kData,
          "{}: {}: the header says {} elements, which need {} bytes, but {} follow it", path,
          actual < expected ? "truncated" : "oversized", join(out.sizes), expected, actual);
  }
  return out;
}

}  // namespace

LabelledImages read_idx(const std::string& images_path, const std::string& labels_path,
                        std::int64_t max_bytes) {
  IdxArray images = read_array(images_path, 3, 4, max_bytes);
  const IdxArray labels = read_array(labels_path, 1, 1, max_bytes);
  if (images.sizes[0] != labels.sizes[0]) {
    raise(ErrorKind::kData, "{} has {} images, but {} has {} labels", images_path, images.sizes[0],
          labels_path, labels.sizes[0]);
  }
  const std::size_t rank = images.sizes.size();
  const std::int64_t channels = rank == 4 ? images.sizes[1] : 1;
  if (product(images_path, images.sizes) == 0) {
    raise(ErrorKind::kData, "{}: no images in it: the header says {}", images_path,
          join(images.sizes));
  }
  return {.source = images_path,
          .shape = Shape{Dim(channels, "channel"), Dim(images.sizes[rank - 2], "height"),
                         Dim(images.sizes[rank - 1], "width")},
          .pixels = std::move(images.elements),
          .labels = {labels.elements.begin(), labels.elements.end()},
          .label_source = labels_path};
}

}  // namespace lockstep
