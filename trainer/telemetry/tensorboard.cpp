#include "trainer/telemetry/tensorboard.h"

#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "core/base/error.h"
#include "core/base/posix_file.h"
#include "watch/process_state.h"

namespace lockstep {
namespace {

template <class T>
std::string little_endian(T value) {
  static_assert(std::endian::native == std::endian::little);
  std::string out(sizeof value, '\0');
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
    table[i] = crc;
  }
  return table;
}

/// TFRecord stores a rotated and offset crc, so that the crc of data that contains crcs stays
/// valid.
std::uint32_t masked_crc32c(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return std::rotr(crc, 15) + 0xA282EAD8U;
}

// Protocol buffer wire format: a key is field number * 8 + wire type.
std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(0x80 | (value & 0x7F));
  return out + static_cast<char>(value);
}
std::string varint_field(int field, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(field) * 8 + 0) + varint(value);
}
std::string double_field(int field, double value) {
  return varint(static_cast<std::uint64_t>(field) * 8 + 1) + little_endian(value);
}
std::string bytes_field(int field, std::string_view bytes) {
  return varint(static_cast<std::uint64_t>(field) * 8 + 2) + varint(bytes.size()) +
         std::string(bytes);
}
std::string float_field(int field, float value) {
  return varint(static_cast<std::uint64_t>(field) * 8 + 5) + little_endian(value);
}

// Event: 1 wall_time (double), 2 step (int64), 3 file_version (string), 5 summary, 7 session_log.
std::string event(double wall_time, std::int64_t step, const std::string& payload) {
  return double_field(1, wall_time) + varint_field(2, static_cast<std::uint64_t>(step)) + payload;
}

// Summary: 1 repeated Value; Summary.Value: 1 tag (string), 2 simple_value (float).
std::string scalar(std::string_view tag, double value) {
  return bytes_field(1, bytes_field(1, tag) + float_field(2, static_cast<float>(value)));
}

// SummaryMetadata: 1 plugin_data; its PluginData: 1 plugin_name (string). TensorProto: 1 dtype, 2
// tensor_shape, 8 repeated string_val (bytes); TensorShapeProto: 2 repeated dim, Dim: 1 size.
// Summary.Value: 8 tensor, 9 metadata.
std::string text_value(std::string_view tag, std::string_view text) {
  constexpr std::uint64_t kString = 7;  // DataType.DT_STRING
  const std::string one = bytes_field(2, bytes_field(2, varint_field(1, 1)));
  const std::string tensor = varint_field(1, kString) + one + bytes_field(8, text);
  const std::string metadata = bytes_field(1, bytes_field(1, "text"));
  return bytes_field(1, bytes_field(1, tag) + bytes_field(8, tensor) + bytes_field(9, metadata));
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr auto kTable = crc_table();
  std::uint32_t crc = 0xFFFFFFFFU;
  for (char c : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xFFU];
  return ~crc;
}

std::string tf_record(std::string_view bytes) {
  const std::string length = little_endian(static_cast<std::uint64_t>(bytes.size()));
  return length + little_endian(masked_crc32c(length)) + std::string(bytes) +
         little_endian(masked_crc32c(bytes));
}

TensorBoardFile::TensorBoardFile(const std::string& folder, double start_wall_time,
                                 std::int64_t resumed_step, Log& log)
    : path_(fmt::format("{}/events.out.tfevents.{:010d}.{}.{}", folder,
                        static_cast<std::int64_t>(start_wall_time), host_name(), ::getpid())),
      log_(log) {
  fd_ = open_to_append(path_, ErrorKind::kUsage, 0644);
  append(event(start_wall_time, 0, bytes_field(3, "brain.Event:2")));
  if (resumed_step > 0) {
    constexpr int kSessionStart = 1;  // SessionLog.status
    append(
        event(start_wall_time, resumed_step + 1, bytes_field(7, varint_field(1, kSessionStart))));
  }
}

TensorBoardFile::~TensorBoardFile() {
  ::close(fd_);
}

void TensorBoardFile::write(const TelemetryRecord& record) {
  std::string summary;
  for (const auto& [name, value] : fields_of(record)) summary += scalar(name, value);
  append(event(record.wall_time, record.step, bytes_field(5, summary)));
}

void TensorBoardFile::write_text(double wall_time, std::int64_t step, std::string_view tag,
                                 std::string_view text) {
  append(event(wall_time, step, bytes_field(5, text_value(tag, text))));
}

void TensorBoardFile::append(const std::string& event) {
  const std::string record = tf_record(event);
  const ssize_t written = ::write(fd_, record.data(), record.size());
  if (written == static_cast<ssize_t>(record.size()) || warned_) return;
  warned_ = true;
  log_.warn("{}: events are being lost: {}", path_,
            written < 0 ? std::strerror(errno) : "the disk is full");
}

}  // namespace lockstep
