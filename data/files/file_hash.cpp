#include "data/files/file_hash.h"

#include <algorithm>

#include "core/base/posix_file.h"
#include "core/base/stream_hash.h"

namespace lockstep {
namespace {

constexpr std::size_t kHashedBytes = 1 << 20;

/// Adds bytes [begin, end) of the file. Error kData if it is shorter.
void add_range(const PosixFile& file, std::uint64_t begin, std::uint64_t end, StreamHasher& to,
               Activity activity = {}) {
  std::vector<std::byte> buffer(std::min<std::uint64_t>(kHashedBytes, end - begin));
  for (std::uint64_t at = begin; at < end;) {
    const std::size_t wanted = std::min<std::uint64_t>(buffer.size(), end - at);
    const std::size_t got = file.read(at, {buffer.data(), wanted});
    if (got != wanted)
      raise(ErrorKind::kData, "{}: ends at byte {} while bytes up to {} are read; was it changed?",
            file.path(), at + got, end);
    to.update(buffer.data(), got);
    at += got;
    activity.progress(got);
  }
}

}  // namespace

Hash128 hash_file(const std::string& path, Activity activity) {
  const PosixFile file = PosixFile::open(path, ErrorKind::kData);
  StreamHasher hasher;
  add_range(file, 0, file.size(), hasher, activity);
  return hasher.finish();
}

std::vector<Hash128> hash_pieces(const std::string& path, std::uint64_t begin, std::uint64_t end,
                                 std::size_t count, Activity activity) {
  const PosixFile file = PosixFile::open(path, ErrorKind::kData);
  const std::uint64_t size = (end - begin + count - 1) / count;
  std::vector<Hash128> out;
  for (std::size_t i = 0; i < count; ++i) {
    StreamHasher hasher;
    add_range(file, std::min(begin + i * size, end), std::min(begin + (i + 1) * size, end), hasher,
              activity);
    out.push_back(hasher.finish());
  }
  return out;
}

HashCoverage hash_coverage(std::size_t files, std::uint64_t bytes, const HashLimits& limits) {
  const bool is_small = bytes <= limits.whole_bytes;
  if (files > limits.whole_files || (!is_small && files > limits.probed_files))
    return HashCoverage::kProbesOfSome;
  return is_small ? HashCoverage::kWhole : HashCoverage::kProbesOfAll;
}

bool is_hashed(std::size_t i, std::size_t files, HashCoverage coverage) {
  return coverage != HashCoverage::kProbesOfSome ||
         i % std::max<std::size_t>(files / kProbedFiles, 1) == 0;
}

Hash128 hash_probes(const std::string& path, std::size_t count, std::size_t bytes) {
  const PosixFile file = PosixFile::open(path, ErrorKind::kData);
  const std::uint64_t size = file.size();
  const std::uint64_t length = std::min<std::uint64_t>(bytes, size);
  StreamHasher hasher;
  for (std::size_t i = 0; i < count; ++i) {
    // In double, which is exact enough for any file and cannot overflow.
    const double place = count == 1 ? 0.0 : static_cast<double>(i) / static_cast<double>(count - 1);
    const auto begin = std::min(
        static_cast<std::uint64_t>(place * static_cast<double>(size - length)), size - length);
    add_range(file, begin, begin + length, hasher);
  }
  return hasher.finish();
}

}  // namespace lockstep
