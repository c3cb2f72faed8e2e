#include "data/images/image_array.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "data/samples/digest.h"

namespace lockstep {

ImageArray::ImageArray(LabelledImages images) : images_(std::move(images)) {
  LS_CHECK(images_.pixels.size() ==
               images_.labels.size() * static_cast<std::size_t>(images_.shape.elements()),
           "{} bytes for {} images of {}", images_.pixels.size(), images_.labels.size(),
           images_.shape.to_string());
}

Raster ImageArray::image(std::int64_t index) const {
  Raster out{.height = images_.shape[1], .width = images_.shape[2], .channels = images_.shape[0]};
  const auto channels = static_cast<std::size_t>(out.channels);
  const auto plane = static_cast<std::size_t>(out.height * out.width);
  out.pixels.resize(channels * plane);
  const std::uint8_t* from =
      images_.pixels.data() + static_cast<std::size_t>(index) * out.pixels.size();
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t i = 0; i < plane; ++i) out.pixels[i * channels + c] = from[c * plane + i];
  return out;
}

std::string ImageArray::digest() const {
  Sha256 hash;
  for (const std::int64_t size : images_.shape.sizes()) hash.update(&size, sizeof size);
  // One byte per label if that is enough, as in earlier versions, which had no others.
  if (std::ranges::all_of(images_.labels,
                          [](std::int32_t label) { return label >= 0 && label < 256; })) {
    const std::vector<std::uint8_t> bytes(images_.labels.begin(), images_.labels.end());
    hash.update(bytes.data(), bytes.size());
  } else {
    hash.update(images_.labels.data(), images_.labels.size() * sizeof(std::int32_t));
  }
  hash.update(images_.pixels.data(), images_.pixels.size());
  return finish_hex(hash);
}

std::string ImageArray::describe() const {
  return fmt::format("{}: {} images {}", images_.source, size(), images_.shape.to_string());
}

}  // namespace lockstep
