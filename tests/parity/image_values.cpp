// Writes images as decoded and resized, for pillow_images_test.py to compare. Each line of the
// standard input is a job, separated by tabs:
//
//   FILE OUT                                                         the pixels, as RGB
//   FILE OUT HEIGHT WIDTH bilinear|bicubic LEFT TOP RIGHT BOTTOM     the box of them, resized
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>

#include "data/images/decode_image.h"
#include "data/images/resize.h"

int main() {
  using namespace lockstep;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string path, out, filter;
    words >> path >> out;
    std::ifstream file(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    Raster image = with_channels(
        decode_image({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, path), 3);
    std::int64_t height = 0, width = 0;
    ImageBox box;
    if (words >> height >> width >> filter >> box.left >> box.top >> box.right >> box.bottom)
      image = resize(image, box, height, width,
                     filter == "bicubic" ? Interpolation::kBicubic : Interpolation::kBilinear);
    std::ofstream(out, std::ios::binary)
        .write(reinterpret_cast<const char*>(image.pixels.data()),
               static_cast<std::streamsize>(image.pixels.size()));
  }
}
