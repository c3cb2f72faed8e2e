// Images that each have a file of their own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/hash.h"
#include "data/images/raster.h"

namespace lockstep {

/// Whether a file's name is that of an image that can be read: PNG or JPEG.
bool is_image_name(const std::string& path);

/// The decoded image in a file (decode_image.h). Error kData naming the file if it cannot be read.
Raster read_image(const std::string& path, const ImageLimits& limits);

/// The whole file of an image; of anything else only the first bytes. Error kData if the image's
/// file is too large.
std::vector<std::uint8_t> image_bytes(const std::string& path, const ImageLimits& limits);

/// In bytes; 0 if the file is missing: the reader of the image reports why.
std::uint64_t image_file_size(const std::string& path);

/// Hash of the files' bytes: of all up to HashLimits, of more probes as ranks compare
/// (trainer/job/data_agreement.h). A file that cannot be read counts as such: the reader of the
/// image reports why.
Hash128 hash_image_files(std::span<const std::string> paths);

}  // namespace lockstep
