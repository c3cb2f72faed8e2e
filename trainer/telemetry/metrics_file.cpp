#include "trainer/telemetry/metrics_file.h"

#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "core/base/json_place.h"
#include "core/base/posix_file.h"
#include "trainer/telemetry/json_lines.h"

namespace lockstep {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson number_or_null(double x) {
  return std::isfinite(x) ? OrderedJson(x) : OrderedJson(nullptr);
}

double number_or_nan(const JsonPlace& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.real();
}

double number_at(const JsonPlace& line, std::string_view key) {
  const auto value = line.find_any(key);
  if (!value) line.refuse(fmt::format("'{}' is missing", key));
  return number_or_nan(*value);
}

TelemetryRecord record_of(const JsonPlace& line) {
  TelemetryRecord out{.step = line.at("step").integer(0, std::numeric_limits<std::int64_t>::max()),
                      .epoch = number_at(line, "epoch"),
                      .wall_time = number_at(line, "wall_time")};
  line.for_each_member([&](const std::string& name, const JsonPlace& value) {
    if (name == "step" || name == "epoch" || name == "wall_time") return;
    if (!set_field(out, name, number_or_nan(value))) value.refuse("is no measurement of a step");
  });
  return out;
}

/// A device, which is written like a file, has none.
bool has_lines(const std::string& path) {
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  return type != std::filesystem::file_type::not_found &&
         type != std::filesystem::file_type::character;
}

/// Whether a line is a whole record of a step up to `last_step`.
bool keeps(const std::string& line, std::int64_t last_step) {
  try {
    const JsonPlace record = JsonPlace::parse(line, "a line");
    const auto step = record.find("step");
    return step && step->find_integer(std::numeric_limits<std::int64_t>::min(), last_step);
  } catch (const Error&) {
    return false;
  }
}

/// The lines of `path` that stay, newlines included; `all` tells whether that is the whole file.
std::string kept_lines(const std::string& path, std::int64_t last_step, bool& all) {
  all = true;
  std::string kept;
  if (!has_lines(path)) return kept;
  for_each_json_line(path, [&](const JsonLine& line) {
    if (!line.torn && keeps(line.text, last_step)) {
      kept += line.text + "\n";
    } else {
      all = false;
    }
  });
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

MetricsRead read_good_metrics(const std::string& path) {
  MetricsRead out;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return out;
  try {
    for_each_json_line(path, [&](JsonLine line) {
      if (!line.torn)
        out.records.push_back(record_of(JsonPlace::parse(
            std::move(line.text),
            {.name = path, .kind = ErrorKind::kUsage, .line = std::ssize(out.records) + 1})));
    });
  } catch (const Error& e) {
    out.damage = e.what();
  }
  return out;
}

std::vector<TelemetryRecord> read_metrics(const std::string& path) {
  MetricsRead read = read_good_metrics(path);
  if (!read.damage.empty()) raise(ErrorKind::kUsage, "{}", read.damage);
  return std::move(read.records);
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
  fd_ = open_to_append(path_, ErrorKind::kUsage, 0644);
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
