#include "data/images/png.h"

#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <new>
#include <utility>

#include "core/base/error.h"

namespace lockstep {
namespace {

/// Maximum ratio of inflated to deflated bytes.
constexpr std::size_t kMaxDeflated = 1032;

/// The state that libpng's callbacks reach. An error leaves libpng by longjmp: everything it skips
/// is held here, and no frame in between has anything to destroy.
class PngFile {
 public:
  PngFile(std::span<const std::uint8_t> bytes, const std::string& source, const ImageLimits& limits)
      : bytes_(bytes), source_(source), limits_(limits) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, fail, ignore);
    if (png_ == nullptr) throw std::bad_alloc();
    png_set_read_fn(png_, this, read);
  }
  ~PngFile() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngFile(const PngFile&) = delete;
  PngFile& operator=(const PngFile&) = delete;

  Raster decode() {
    check_chunk_lengths();
    run([](PngFile& file) {
      file.info_ = png_create_info_struct(file.png_);
      if (file.info_ == nullptr) png_error(file.png_, "no memory");
      file.pass_over_chunks();
      png_read_info(file.png_, file.info_);
    });
    const std::int64_t width = png_get_image_width(png_, info_);
    const std::int64_t height = png_get_image_height(png_, info_);
    check_sizes(source_, width, height, limits_);
    if (png_get_rowbytes(png_, info_) * static_cast<std::size_t>(height) >
        bytes_.size() * kMaxDeflated)
      raise(ErrorKind::kData, "{}: a damaged PNG image: {} bytes cannot hold {} x {} pixels",
            source_, bytes_.size(), width, height);
    run([](PngFile& file) { file.ask_for_bytes(); });
    out_ = {.height = height, .width = width, .channels = png_get_channels(png_, info_)};
    LS_CHECK(png_get_rowbytes(png_, info_) == static_cast<std::size_t>(width * out_.channels),
             "libpng gives rows of {} bytes", png_get_rowbytes(png_, info_));
    out_.pixels.resize(static_cast<std::size_t>(height * width * out_.channels));
    for (std::int64_t y = 0; y < height; ++y)
      rows_.push_back(out_.pixels.data() + y * width * out_.channels);
    run([](PngFile& file) {
      png_read_image(file.png_, file.rows_.data());
      png_read_end(file.png_, file.info_);
    });
    if (has_palette()) out_ = with_colours(out_);
    return turned_upright(std::move(out_), orientation());
  }

 private:
  /// Calls libpng; error kData if it gives up.
  void run(void (*step)(PngFile&)) {
    if (setjmp(png_jmpbuf(png_)) == 0) {
      step(*this);
      return;
    }
    raise(ErrorKind::kData, "{}: a damaged PNG image: {}", source_, message_);
  }

  /// libpng allocates what a chunk claims before it reads it, even if the file is shorter: its
  /// limit of a chunk's memory is only a warning, and the chunk with the orientation is read in
  /// spite of it.
  void check_chunk_lengths() const {
    constexpr std::size_t kSignature = 8;
    constexpr std::size_t kHead = 8;  // the length of what follows it, big-endian, and the name
    constexpr std::size_t kChecksum = 4;
    for (std::size_t at = kSignature; at < bytes_.size() && bytes_.size() - at >= kHead;) {
      std::size_t length = 0;
      for (std::size_t i = 0; i < 4; ++i) length = length << 8U | bytes_[at + i];
      if (length + kHead + kChecksum > bytes_.size() - at)
        raise(ErrorKind::kData, "{}: a damaged PNG image: the file ends too early", source_);
      if (std::memcmp(bytes_.data() + at + 4, "IEND", 4) == 0) return;
      at += kHead + length + kChecksum;
    }
  }

  /// Skips chunks other than pixels and orientation. libpng would inflate texts and profiles.
  void pass_over_chunks() {
    constexpr int kAllThatCanBe = -1;
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, kAllThatCanBe);
    constexpr png_byte kOrientation[] = "eXIf";
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_AS_DEFAULT, kOrientation, 1);
    png_set_chunk_malloc_max(png_, bytes_.size());
  }

  /// Requests 8 bits, grey or RGB; for a palette the indices.
  void ask_for_bytes() {
    if (has_palette())
      png_set_packing(png_);
    else
      png_set_expand(png_);
    png_set_scale_16(png_);
    png_set_strip_alpha(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
  }

  bool has_palette() const { return png_get_color_type(png_, info_) == PNG_COLOR_TYPE_PALETTE; }

  /// libpng would silently turn an index beyond the palette into black.
  Raster with_colours(const Raster& indices) {
    png_colorp colours = nullptr;
    int count = 0;
    png_get_PLTE(png_, info_, &colours, &count);
    const std::uint8_t largest = *std::ranges::max_element(indices.pixels);
    if (largest >= count)
      raise(ErrorKind::kData,
            "{}: a damaged PNG image: it has a pixel of colour {}, and its palette has {} colours",
            source_, largest, count);
    Raster out{.height = indices.height,
               .width = indices.width,
               .channels = 3,
               .pixels = std::vector<std::uint8_t>(3 * indices.pixels.size())};
    std::uint8_t* to = out.pixels.data();
    for (const std::uint8_t index : indices.pixels) {
      *to++ = colours[index].red;
      *to++ = colours[index].green;
      *to++ = colours[index].blue;
    }
    return out;
  }

  int orientation() {
    png_bytep data = nullptr;
    png_uint_32 count = 0;
    if (png_get_eXIf_1(png_, info_, &count, &data) == 0) return 1;
    return exif_orientation({data, count});
  }

  static void read(png_structp png, png_bytep to, std::size_t count) {
    auto& file = *static_cast<PngFile*>(png_get_io_ptr(png));
    if (count > file.bytes_.size() - file.at_) png_error(png, "the file ends too early");
    std::memcpy(to, file.bytes_.data() + file.at_, count);
    file.at_ += count;
  }
  [[noreturn]] static void fail(png_structp png, png_const_charp message) {
    auto& file = *static_cast<PngFile*>(png_get_error_ptr(png));
    std::strncpy(file.message_, message, sizeof file.message_ - 1);
    png_longjmp(png, 1);
  }
  static void ignore(png_structp, png_const_charp) {}

  std::span<const std::uint8_t> bytes_;
  const std::string& source_;
  const ImageLimits& limits_;
  std::size_t at_ = 0;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  Raster out_;
  std::vector<png_bytep> rows_;
  char message_[160] = {};
};

}  // namespace

bool is_png(std::span<const std::uint8_t> bytes) {
  constexpr std::size_t kSignature = 8;
  return bytes.size() >= kSignature && png_sig_cmp(bytes.data(), 0, kSignature) == 0;
}

Raster decode_png(std::span<const std::uint8_t> bytes, const std::string& source,
                  const ImageLimits& limits) {
  return PngFile(bytes, source, limits).decode();
}

}  // namespace lockstep
