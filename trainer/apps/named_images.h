// The images that a command is given, as files or as a folder, and those among them that cannot be
// read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

/// `files`, or all images of `folder` (images_below()). Error kUsage for both, and for a folder
/// among `files`; kData for a folder without images.
std::vector<std::string> named_images(const std::vector<std::string>& files,
                                      const std::optional<std::string>& folder);

/// What an answer for many images does about those that cannot be read: the others are answered.
class UnreadImages {
 public:
  /// Says so on standard error. `reason`: with the file.
  void add(const std::string& reason);

  /// Error kData that counts them, if there are any among the `images` that were asked for.
  void finish(std::int64_t images) const;

 private:
  std::int64_t count_ = 0;
};

}  // namespace lockstep
