// Files of captions, which name the images that they describe. Their contents tell the format:
//
//   JSON Lines   an object on each line: {"image": "a.png", "caption": "a cat"}, or "captions":
//                ["a cat", "an animal"]; each line is an image of its own, blank lines are skipped
//   COCO         one object (Lin et al., "Microsoft COCO", ECCV 2014; Chen et al.,
//   arXiv:1504.00325):
//                {"images": [{"id": 7, "file_name": "a.png"}],
//                 "annotations": [{"image_id": 7, "caption": "a cat"}]}
//
// Other members have no meaning. Images keep the order of the file, and captions theirs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

struct Caption {
  std::string text;
  std::int64_t at = 0;  ///< its line, from 1, or its index in "annotations"
};

struct CaptionedImage {
  std::string name;     ///< its path in the folder of images
  std::int64_t at = 0;  ///< its line, from 1, or its index in "images"
  std::vector<Caption> captions = {};
};

struct CaptionFile {
  std::string path;
  std::string folder;  ///< of images
  bool is_coco = false;
  std::vector<CaptionedImage> images = {};

  std::string image_path(const CaptionedImage& image) const;
  /// "a.jsonl:12" or "a.json: images[3]".
  std::string place_of(const CaptionedImage& image) const;
  /// "a.jsonl:12" or "a.json: annotations[3]".
  std::string place_of(const Caption& caption) const;
  /// All captions, a line each.
  std::string text() const;
};

/// Reads the file, but no image. Images are in `folder`; "": in the file's own. Error kData naming
/// file, line and column (core/base/json_place.h) for anything that is not as above, an image
/// without captions, an empty caption, an image that COCO's annotation does not have; and naming
/// the file if it has no captions.
CaptionFile read_captions(const std::string& path, const std::string& folder = "");

/// The file itself and the images that it names; nothing if it cannot be read.
std::vector<std::string> files_of_captions(const std::string& path, const std::string& folder);

}  // namespace lockstep
