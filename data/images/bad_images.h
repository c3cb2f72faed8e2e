// What becomes of a sample whose image cannot be read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "data/images/raster.h"
#include "data/samples/dataset.h"

namespace lockstep {

/// How an image that cannot be read is handled.
enum class OnBadSample : std::uint8_t {
  kError,
  kSkip,  ///< the next readable image replaces it
};

/// Maximum number of unreadable training images in a row; more are an error.
inline constexpr std::int64_t kMaxBadImages = 16;

struct FoundImage {
  std::int64_t index = 0;            ///< of the image
  std::optional<Raster> image = {};  ///< nothing: it cannot be read and the sample does not count
};

/// The image that `read` returns for `index`. With kSkip, an unreadable one is replaced in training
/// by the first readable one of next(index), next(next(index)), ..., which comes back to `index`
/// once there are no more, and in an evaluation by nothing; key.skipped receives the error. Errors
/// are those of `read`, and kData if too many images are unreadable.
FoundImage find_image(std::int64_t index, OnBadSample on_bad_sample, const DrawKey& key,
                      const std::function<Raster(std::int64_t)>& read,
                      const std::function<std::int64_t(std::int64_t)>& next);

}  // namespace lockstep
