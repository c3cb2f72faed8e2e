#include "data/images/image_file.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "core/base/error.h"
#include "data/files/file_hash.h"
#include "data/files/printable.h"
#include "data/files/source_file.h"
#include "data/images/decode_image.h"

namespace lockstep {
namespace {

/// A default hash if the file cannot be read: the reader of the image reports why.
Hash128 content_hash(const std::string& path, HashCoverage coverage) {
  try {
    return coverage == HashCoverage::kWhole ? hash_file(path)
                                            : hash_probes(path, kProbes, kProbeBytes);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

std::vector<std::uint8_t> image_bytes(const std::string& path, const ImageLimits& limits) {
  constexpr std::size_t kHead = 16;
  const SourceFile file(path);
  std::vector<std::uint8_t> out(std::min<std::size_t>(file.size(), kHead));
  file.read(0, std::as_writable_bytes(std::span(out)));
  if (!is_image(out)) return out;
  if (file.size() > static_cast<std::uint64_t>(limits.file_bytes))
    raise(ErrorKind::kData, "{}: an image of {} bytes, more than data.max_file_mb: {}",
          printable(path), file.size(), limits.file_bytes >> 20);
  out.resize(file.size());
  file.read(0, std::as_writable_bytes(std::span(out)));
  return out;
}

bool is_image_name(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  for (char& c : extension)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return extension == ".png" || extension == ".jpg" || extension == ".jpeg";
}

Raster read_image(const std::string& path, const ImageLimits& limits) {
  return decode_image(image_bytes(path, limits), printable(path), limits);
}

std::uint64_t image_file_size(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

Hash128 hash_image_files(std::span<const std::string> paths) {
  std::uint64_t bytes = 0;
  for (const std::string& path : paths) bytes += image_file_size(path);
  const HashCoverage coverage = hash_coverage(paths.size(), bytes, {});
  Hasher contents;
  for (std::size_t i = 0; i < paths.size(); ++i)
    if (is_hashed(i, paths.size(), coverage)) contents.value(content_hash(paths[i], coverage));
  return contents.finish();
}

}  // namespace lockstep
