#include "trainer/telemetry/metrics_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "core/base/json_place.h"

namespace lockstep {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson number_or_null(double x) {
  return std::isfinite(x) ? OrderedJson(x) : OrderedJson(nullptr);
}

/// Whether a line is a whole record of a step up to `last_step`.
bool keeps(std::string_view line, std::int64_t last_step) {
  try {
    const JsonPlace record = JsonPlace::parse(std::string(line), "a line");
    const auto step = record.find("step");
    return step && step->find_integer(std::numeric_limits<std::int64_t>::min(), last_step);
  } catch (const Error&) {
    return false;
  }
}

/// The lines of `path` that stay, newlines included; `all` tells whether that is the whole file.
std::string kept_lines(const std::string& path, std::int64_t last_step, bool& all) {
  all = true;
  // A pipe or a device is not read, since it may never end.
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return "";
  std::ifstream in(path, std::ios::binary);
  std::string kept;
  std::string line;
  while (std::getline(in, line)) {
    const bool torn = in.eof();  // no newline
    if (!torn && keeps(line, last_step)) {
      kept += line + "\n";
    } else {
      all = false;
    }
  }
  return kept;
}

}  // namespace

std::string to_json(const TelemetryRecord& record) {
  OrderedJson out{{"step", record.step},
                  {"epoch", number_or_null(record.epoch)},
                  {"wall_time", number_or_null(record.wall_time)}};
  for (const auto& [name, value] : fields_of(record)) out[name] = number_or_null(value);
  return out.dump();
}

MetricsFile::MetricsFile(std::string path, std::int64_t resumed_step, Log& log)
    : path_(std::move(path)), log_(log) {
  bool all = true;
  const std::string kept = kept_lines(path_, resumed_step, all);
  if (!all) write_file(path_, kept, ErrorKind::kUsage);
  if (const std::size_t end = kept.size(); end > 1) {
    const std::size_t before = kept.rfind('\n', end - 2);
    resumed_line_ = kept.substr(before == std::string::npos ? 0 : before + 1);
  }
  open();
}

bool MetricsFile::complete_resumed_line(const std::string& line) {
  const std::string old = std::exchange(resumed_line_, {});
  OrderedJson record = OrderedJson::parse(old);
  const OrderedJson more = OrderedJson::parse(line);
  if (record["step"] != more["step"]) return false;
  record.update(more);
  bool all = true;
  std::string text = kept_lines(path_, more["step"].get<std::int64_t>(), all);
  text.resize(text.size() - old.size());
  try {
    write_file(path_, text + record.dump() + "\n", ErrorKind::kUsage);
  } catch (const Error&) {
    return false;  // starts a new line, if the disk accepts it
  }
  ::close(std::exchange(fd_, -1));
  open();
  return true;
}

void MetricsFile::open() {
  fd_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (fd_ < 0) raise_errno(ErrorKind::kUsage, path_ + ": cannot be written");
}

MetricsFile::~MetricsFile() {
  ::close(fd_);
}

void MetricsFile::write(const TelemetryRecord& record) {
  // One write call per line, so that a crash truncates at most the last one.
  const std::string line = to_json(record) + "\n";
  if (!resumed_line_.empty() && complete_resumed_line(line)) return;
  const ssize_t written = ::write(fd_, line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size()) || warned_) return;
  warned_ = true;
  log_.warn("{}: metrics are being lost: {}", path_,
            written < 0 ? std::strerror(errno) : "the disk is full");
}

}  // namespace lockstep
