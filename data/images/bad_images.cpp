#include "data/images/bad_images.h"

#include <string>

#include "core/base/error.h"

namespace lockstep {

FoundImage find_image(std::int64_t index, OnBadSample on_bad_sample, const DrawKey& key,
                      const std::function<Raster(std::int64_t)>& read,
                      const std::function<std::int64_t(std::int64_t)>& next) {
  const bool evaluates = key.skipped != nullptr && !key.epoch;
  std::string first;  // the error of image `index` itself
  std::int64_t at = index;
  for (std::int64_t bad = 0;; ++bad) {
    try {
      FoundImage out{at, read(at)};
      if (key.skipped != nullptr && bad > 0) key.skipped->push_back(first);
      return out;
    } catch (const Error& error) {
      if (on_bad_sample == OnBadSample::kError || error.kind() != ErrorKind::kData) throw;
      if (bad == 0) first = error.what();
      if (evaluates) {
        key.skipped->push_back(first);
        return {index, std::nullopt};
      }
      at = next(at);
      if (bad + 1 == kMaxBadImages || at == index)
        raise(ErrorKind::kData,
              "{}; the {} images after it cannot be read either: data.on_bad_sample=skip skips at "
              "most {} in a row; remove them",
              first, bad, kMaxBadImages - 1);
    }
  }
}

}  // namespace lockstep
