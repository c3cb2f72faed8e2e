#include "data/files/byte_reader.h"

#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

#include "core/base/error.h"
#include "data/files/source_file.h"

namespace lockstep {

struct ByteReader::Stream {
  gzFile file = nullptr;
  ~Stream() {
    if (file != nullptr) gzclose_r(file);
  }
};

namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 20;

}  // namespace

ByteReader::ByteReader(const std::string& path, std::int64_t max_bytes)
    : path_(path), max_bytes_(static_cast<std::uint64_t>(max_bytes)), stream_(new Stream) {
  const int descriptor = open_regular_file(path);
  struct stat status {};
  if (::fstat(descriptor, &status) == 0 && status.st_size > max_bytes) {
    ::close(descriptor);
    raise(ErrorKind::kData, "{}: a file of {} bytes, more than data.max_file_mb: {}", path,
          status.st_size, max_bytes >> 20);
  }
  stream_->file = gzdopen(descriptor, "rb");
  if (stream_->file == nullptr) {
    ::close(descriptor);
    throw std::bad_alloc();  // the only possible failure for an open descriptor
  }
  gzbuffer(stream_->file, 1U << 17);
}

ByteReader::~ByteReader() = default;

std::size_t ByteReader::read_some(std::uint8_t* to, std::size_t count) {
  const int got = gzread(stream_->file, to, static_cast<unsigned>(count));
  int code = Z_OK;
  const char* message = gzerror(stream_->file, &code);
  if (code == Z_ERRNO) raise_errno(ErrorKind::kData, path_ + ": cannot be read");
  // zlib reports a gzip stream that ends early as Z_BUF_ERROR.
  if (got < 0 || code == Z_BUF_ERROR) {
    raise(ErrorKind::kData, "{}: damaged gzip data: {}", path_,
          code == Z_BUF_ERROR ? "unexpected end of file" : message);
  }
  delivered_ += static_cast<std::uint64_t>(got);
  if (delivered_ > max_bytes_)
    raise(ErrorKind::kData, "{}: inflates to more than data.max_file_mb: {}", path_,
          max_bytes_ >> 20);
  return static_cast<std::size_t>(got);
}

std::vector<std::uint8_t> ByteReader::read(std::uint64_t count) {
  std::vector<std::uint8_t> out;
  while (out.size() < count) {
    const std::size_t before = out.size();
    const std::size_t wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(kReadBytes, count - before));
    out.resize(before + wanted);
    const std::size_t got = read_some(out.data() + before, wanted);
    out.resize(before + got);
    if (got == 0) break;
  }
  return out;
}

std::vector<std::uint8_t> ByteReader::read_all() {
  return read(std::numeric_limits<std::uint64_t>::max());
}

std::uint64_t ByteReader::skip_to_end() {
  std::vector<std::uint8_t> chunk(kReadBytes);
  std::uint64_t total = 0;
  while (const std::size_t got = read_some(chunk.data(), chunk.size())) total += got;
  return total;
}

}  // namespace lockstep
