#include "data/images/jpeg.h"

#include <csetjmp>
#include <cstddef>
#include <cstdio>
// Needs size_t and FILE declared before.
#include <jpeglib.h>
// Needs what jpeglib.h declares.
#include <jerror.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/error.h"

namespace lockstep {
namespace {

/// Progressive files have about ten; each scan passes over the whole image, so fewer are allowed
/// for the largest images.
constexpr std::int64_t kMaxScans = 500;
constexpr std::int64_t kMaxScansOfLargest = 64;
/// Huffman codes use at least a bit for each block of 8 x 8 pixels.
constexpr std::int64_t kMaxPixelsPerByte = std::int64_t{8} * 64;
/// Arithmetic codes can use almost none; up to this size any claim is accepted.
constexpr std::int64_t kMaxPixelsUnderArithmetic = std::int64_t{1} << 24;

/// As PngFile (png.cpp): errors leave libjpeg by longjmp, over frames that have nothing to destroy.
class JpegFile {
 public:
  JpegFile(std::span<const std::uint8_t> bytes, const std::string& source,
           const ImageLimits& limits)
      : bytes_(bytes), source_(source), limits_(limits) {
    reader_.err = jpeg_std_error(&errors_);
    errors_.error_exit = fail;
    errors_.emit_message = note;
    errors_.output_message = [](j_common_ptr) {};
    reader_.client_data = this;
  }
  ~JpegFile() { jpeg_destroy_decompress(&reader_); }
  JpegFile(const JpegFile&) = delete;
  JpegFile& operator=(const JpegFile&) = delete;

  Raster decode() {
    run([](JpegFile& file) { file.read_header(); });
    const std::int64_t width = reader_.image_width;
    const std::int64_t height = reader_.image_height;
    check_claims(width, height);
    const bool inks = reader_.jpeg_color_space == JCS_CMYK || reader_.jpeg_color_space == JCS_YCCK;
    const bool grey = reader_.jpeg_color_space == JCS_GRAYSCALE;
    reader_.out_color_space = inks ? JCS_CMYK : grey ? JCS_GRAYSCALE : JCS_RGB;
    reader_.dct_method = JDCT_ISLOW;
    run([](JpegFile& file) { jpeg_start_decompress(&file.reader_); });
    pixels_.resize(static_cast<std::size_t>(height * width * reader_.output_components));
    run([](JpegFile& file) { file.read_rows(); });
    Raster out{.height = height, .width = width, .channels = grey ? 1 : 3};
    out.pixels = inks ? without_inks() : std::move(pixels_);
    return turned_upright(std::move(out), orientation_);
  }

 private:
  void check_claims(std::int64_t width, std::int64_t height) {
    constexpr int kColours = 3;
    check_sizes(source_, width, height, limits_);
    const std::int64_t pixels = width * height;
    if (pixels * reader_.num_components > limits_.pixels * kColours)
      raise(ErrorKind::kData,
            "{}: claims {} x {} pixels of {} inks, which take more memory than data.max_pixels: {} "
            "of colours",
            source_, width, height, reader_.num_components, limits_.pixels);
    max_scans_ = std::min(kMaxScans, kMaxScansOfLargest * limits_.pixels / pixels);
    if (reader_.arith_code != 0 && pixels <= kMaxPixelsUnderArithmetic) return;
    if (pixels > static_cast<std::int64_t>(bytes_.size()) * kMaxPixelsPerByte)
      raise(ErrorKind::kData, "{}: a damaged JPEG image: {} bytes cannot hold {} x {} pixels",
            source_, bytes_.size(), width, height);
  }

  /// Calls libjpeg; error kData if it gives up.
  void run(void (*step)(JpegFile&)) {
    if (setjmp(jump_) == 0) {
      step(*this);
      return;
    }
    raise(ErrorKind::kData, "{}: a damaged JPEG image: {}", source_, message_);
  }

  void read_header() {
    jpeg_create_decompress(&reader_);
    progress_.progress_monitor = watch_scans;
    reader_.progress = &progress_;
    jpeg_mem_src(&reader_, bytes_.data(), bytes_.size());
    jpeg_save_markers(&reader_, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(&reader_, TRUE);
    orientation_ = orientation();
  }

  void read_rows() {
    const std::size_t row = static_cast<std::size_t>(reader_.output_width) *
                            static_cast<std::size_t>(reader_.output_components);
    while (reader_.output_scanline < reader_.output_height) {
      JSAMPROW to = pixels_.data() + reader_.output_scanline * row;
      jpeg_read_scanlines(&reader_, &to, 1);
    }
    jpeg_finish_decompress(&reader_);
  }

  static void fail(j_common_ptr common) {
    auto& file = *static_cast<JpegFile*>(common->client_data);
    common->err->format_message(common, file.message_);
    std::longjmp(file.jump_, 1);
  }
  /// libjpeg continues with grey pixels if data is damaged or ends too early, so warnings are
  /// errors, except those that do not affect the pixels.
  static void note(j_common_ptr common, int level) {
    const int code = common->err->msg_code;
    const bool harmless = level >= 0 || code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM ||
                          code == JWRN_JFIF_MAJOR;
    if (!harmless) fail(common);
  }
  static void watch_scans(j_common_ptr common) {
    auto& file = *static_cast<JpegFile*>(common->client_data);
    if (file.reader_.input_scan_number <= file.max_scans_) return;
    std::snprintf(file.message_, sizeof file.message_, "more than %d scans",
                  static_cast<int>(file.max_scans_));
    std::longjmp(file.jump_, 1);
  }

  /// Converts inks to RGB: the value of each ink is the amount that is missing.
  std::vector<std::uint8_t> without_inks() const {
    std::vector<std::uint8_t> out(pixels_.size() / 4 * 3);
    for (std::size_t i = 0; i < out.size() / 3; ++i)
      for (std::size_t c = 0; c < 3; ++c)
        out[3 * i + c] = static_cast<std::uint8_t>(
            (unsigned{pixels_[4 * i + c]} * pixels_[4 * i + 3] + 127) / 255);
    return out;
  }

  /// libjpeg drops the markers with the last row.
  int orientation() const {
    constexpr char kExif[] = "Exif\0";  // and one more zero
    for (const jpeg_marker_struct* m = reader_.marker_list; m != nullptr; m = m->next)
      if (m->data_length > sizeof kExif && std::memcmp(m->data, kExif, sizeof kExif) == 0)
        return exif_orientation({m->data + sizeof kExif, m->data_length - sizeof kExif});
    return 1;
  }

  std::span<const std::uint8_t> bytes_;
  const std::string& source_;
  const ImageLimits& limits_;
  std::int64_t max_scans_ = kMaxScans;
  jpeg_decompress_struct reader_ = {};
  jpeg_error_mgr errors_ = {};
  jpeg_progress_mgr progress_ = {};
  std::jmp_buf jump_ = {};
  std::vector<std::uint8_t> pixels_;
  int orientation_ = 1;
  char message_[JMSG_LENGTH_MAX] = {};
};

}  // namespace

bool is_jpeg(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 3 && bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[2] == 0xff;
}

Raster decode_jpeg(std::span<const std::uint8_t> bytes, const std::string& source,
                   const ImageLimits& limits) {
  return JpegFile(bytes, source, limits).decode();
}

}  // namespace lockstep
