#include "data/images/decode_image.h"

#include "core/base/error.h"
#include "data/images/jpeg.h"
#include "data/images/png.h"

namespace lockstep {

bool is_image(std::span<const std::uint8_t> bytes) {
  return is_png(bytes) || is_jpeg(bytes);
}

Raster decode_image(std::span<const std::uint8_t> bytes, const std::string& source,
                    const ImageLimits& limits) {
  if (is_png(bytes)) return decode_png(bytes, source, limits);
  if (is_jpeg(bytes)) return decode_jpeg(bytes, source, limits);
  raise(ErrorKind::kData, "{}: neither a PNG nor a JPEG image{}", source,
        bytes.empty() ? ": the file is empty" : "");
}

}  // namespace lockstep
