#include "data/images/cifar.h"

#include "core/base/error.h"

namespace lockstep {
namespace {

constexpr std::size_t kPixels = 3072;

void append_file(LabelledImages& images, const std::string& path, std::size_t labels,
                 std::int64_t max_bytes) {
  const std::size_t record = labels + kPixels;
  const auto bytes = ByteReader(path, max_bytes).read_all();
  if (bytes.empty() || bytes.size() % record != 0) {
    const std::size_t other = 3 - labels;
    const bool is_other = !bytes.empty() && bytes.size() % (other + kPixels) == 0;
    raise(
        ErrorKind::kData,
        "{}: CIFAR records have {} bytes each, but the file has {} bytes: {} records and {} bytes "
        "more{}",
        path, record, bytes.size(), bytes.size() / record, bytes.size() % record,
        is_other ? fmt::format("; records of {} bytes, CIFAR-{}'s, would fit", other + kPixels,
                               other == 1 ? "10" : "100")
                 : "");
  }
  for (std::size_t at = 0; at < bytes.size(); at += record) {
    const auto pixels = bytes.begin() + static_cast<std::ptrdiff_t>(at + labels);
    images.labels.push_back(bytes[at + labels - 1]);  // the fine label is the last
    images.pixels.insert(images.pixels.end(), pixels, pixels + kPixels);
  }
}

}  // namespace

LabelledImages read_cifar(const std::vector<std::string>& paths, CifarKind kind,
                          std::int64_t max_bytes) {
  LS_USER_CHECK(!paths.empty(), "CIFAR needs at least one file");
  LabelledImages out;
  out.source =
      paths.size() == 1 ? paths.front() : fmt::format("{} ... {}", paths.front(), paths.back());
  out.shape = Shape{Dim(3, "channel"), Dim(32, "height"), Dim(32, "width")};
  for (const std::string& path : paths) {
    append_file(out, path, kind == CifarKind::kCifar100 ? 2 : 1, max_bytes);
  }
  return out;
}

}  // namespace lockstep
