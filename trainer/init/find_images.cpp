#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "core/base/error.h"
#include "data/files/printable.h"
#include "data/images/idx.h"
#include "data/images/image_file.h"
#include "data/images/image_folder.h"
#include "trainer/init/found_data.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

/// Images of a laptop's model: larger ones are made smaller.
constexpr std::int64_t kMaxSide = 64;

bool has_images(const std::string& folder) {
  return std::ranges::any_of(entries_of(folder), is_image_name);
}

bool has_classes(const std::string& folder) {
  return std::ranges::any_of(entries_of(folder), [](const std::string& entry) {
    return is_folder(entry) && has_images(entry);
  });
}

/// The folder in `folder` with one of these names that has classes, or "".
std::string named_part(const std::string& folder, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const std::string path = (fs::path(folder) / name).string();
    if (is_folder(path) && has_classes(path)) return path;
  }
  return "";
}

/// Training leaves out what cannot be read, so that one broken image is no reason to refuse.
Raster first_image(const ImageFolder& folder) {
  constexpr std::int64_t kTries = 16;
  for (std::int64_t i = 0; i + 1 < std::min(kTries, folder.size()); ++i) {
    try {
      return folder.image(i);
    } catch (const Error&) {
      continue;
    }
  }
  return folder.image(0);
}

FoundData found_classes(const std::string& path, const std::string& val_path) {
  const ImageFolder folder(path);
  const auto classes = static_cast<std::int64_t>(folder.classes().size());
  LS_USER_CHECK(classes >= 2, "{}: one class ({}): a classifier needs two or more", printable(path),
                printable(folder.classes()[0]));
  const Raster image = first_image(folder);
  const std::int64_t side = std::min({kMaxSide, image.height, image.width});
  return {.what = fmt::format("{}: {} images of {} classes", path, folder.size(), classes),
          .part = "data_image_folder",
          .paths = {path},
          .val_path = val_path,
          .values = {{"classes", std::to_string(classes)},
                     {"side", std::to_string(side)},
                     {"channels", std::to_string(image.channels)}},
          .samples = folder.size()};
}

/// "t10k-images-idx3-ubyte.gz" -> "t10k-labels-idx1-ubyte.gz"; "" for another name.
std::string labels_of(const std::string& images) {
  const fs::path path(images);
  std::string name = path.filename().string();
  const std::size_t word = name.rfind("images");
  if (word == name.npos) return "";
  name.replace(word, 6, "labels");
  if (const std::size_t kind = name.find("idx3"); kind != name.npos) name.replace(kind, 4, "idx1");
  return (path.parent_path() / name).string();
}

/// Only the name can tell of a compressed file.
bool is_idx_of_images(const std::string& path) {
  if (is_folder(path)) return false;
  if (extension_of(path) == ".gz") return path.find("idx") != path.npos && !labels_of(path).empty();
  const std::string bytes = first_bytes(path);
  return bytes.size() > 4 && bytes.starts_with(std::string_view("\0\0\x08", 3)) &&
         (bytes[3] == 3 || bytes[3] == 4);
}

FoundData found_idx(const std::string& images, const std::string& val_images) {
  const std::string labels = labels_of(images);
  LS_USER_CHECK(!labels.empty() && fs::exists(labels),
                "{}: images in IDX form, but {} with their labels is missing", printable(images),
                labels.empty() ? "a file" : printable(labels));
  const LabelledImages read = read_idx(images, labels);
  const auto count = static_cast<std::int64_t>(read.labels.size());
  LS_USER_CHECK(count > 0 && read.shape[1] == read.shape[2],
                "{}: {} images of {} x {}: there must be some, and they must be square",
                printable(images), count, read.shape[1], read.shape[2]);
  double sum = 0;
  double squares = 0;
  for (const std::uint8_t pixel : read.pixels) {
    const double value = pixel / 255.0;
    sum += value;
    squares += value * value;
  }
  const double mean = sum / static_cast<double>(read.pixels.size());
  const double variance = squares / static_cast<double>(read.pixels.size()) - mean * mean;
  const std::int64_t classes = std::max(2, 1 + *std::ranges::max_element(read.labels));
  FoundData out{
      .what = fmt::format("{}: {} images of {} classes", images, count, classes),
      .part = "data_idx",
      .paths = {images},
      .values = {{"labels", labels},
                 {"classes", std::to_string(classes)},
                 {"side", std::to_string(read.shape[1])},
                 {"channels", std::to_string(read.shape[0])},
                 {"mean", fmt::format("{:.4f}", mean)},
                 {"deviation", fmt::format("{:.4f}", std::sqrt(std::max(variance, 1e-4)))}},
      .samples = count};
  if (!val_images.empty()) {
    out.val_path = val_images;
    out.values["val_labels"] = labels_of(val_images);
  } else {
    out.samples = count - std::max<std::int64_t>(count / 10, 1);
    out.values["ranges"] = fmt::format("{} {}", out.samples, count);
  }
  return out;
}

std::optional<FoundData> idx_in_folder(const std::string& path) {
  std::string train;
  std::string validation;
  for (const std::string& entry : entries_of(path)) {
    if (!is_idx_of_images(entry)) continue;
    const std::string name = fs::path(entry).filename().string();
    const bool held_out =
        name.starts_with("t10k") || name.starts_with("test") || name.starts_with("val");
    (held_out ? validation : train) = entry;
  }
  if (train.empty()) std::swap(train, validation);
  if (train.empty()) return std::nullopt;
  return found_idx(train, validation);
}

}  // namespace

std::optional<FoundData> find_images(const std::string& path) {
  if (!is_folder(path)) {
    if (!is_idx_of_images(path)) return std::nullopt;
    return found_idx(path, "");
  }
  if (const std::string train = named_part(path, {"train", "training"}); !train.empty())
    return found_classes(train, named_part(path, {"val", "valid", "validation", "test"}));
  if (has_classes(path)) return found_classes(path, "");
  return idx_in_folder(path);
}

}  // namespace lockstep
