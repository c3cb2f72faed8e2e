#include "trainer/apps/named_images.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "core/base/error.h"
#include "data/files/printable.h"
#include "data/images/image_folder.h"

namespace lockstep {

std::vector<std::string> named_images(const std::vector<std::string>& files,
                                      const std::optional<std::string>& folder) {
  LS_USER_CHECK(!folder || files.empty(), "images and --folder exclude each other");
  for (const std::string& file : files) {
    std::error_code error;
    LS_USER_CHECK(!std::filesystem::is_directory(file, error),
                  "{} is a folder: give its images by --folder {}", printable(file),
                  printable(file));
  }
  return folder ? images_below(*folder) : files;
}

void UnreadImages::add(const std::string& reason) {
  ++count_;
  fmt::print(stderr, "lockstep: warning: no answer for {}\n", reason);
}

void UnreadImages::finish(std::int64_t images) const {
  if (count_ > 0)
    raise(ErrorKind::kData, "{} of {} images could not be read; each is named above", count_,
          images);
}

}  // namespace lockstep
