#include "trainer/telemetry/cuts_file.h"

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "core/base/json_place.h"

namespace lockstep {
namespace {

// Limits of the reader: far above any real file.
constexpr double kMaxMs = 1e12;
constexpr std::int64_t kMaxCount = std::int64_t{1} << 50;

}  // namespace

std::string to_json(const std::vector<Cuts::Row>& cuts) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const Cuts::Row& row : cuts)
    out.push_back({{"reason", row.reason},
                   {"line", row.line},
                   {"what", row.told()},
                   {"graph_break", row.in_step},
                   {"count", row.count},
                   {"waited_ms", static_cast<double>(row.waited_ns) * 1e-6},
                   {"idle_ms", static_cast<double>(row.idle_ns) * 1e-6}});
  return out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void write_cuts(const std::string& path, const Cuts& cuts, Log& log) {
  try {
    write_file(path, to_json(cuts.rows()) + "\n", ErrorKind::kUsage);
  } catch (const Error& error) {
    log.warn("the cuts could not be written: {}", error.what());
  }
}

std::vector<Cuts::Row> read_cuts(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return {};
  const auto rows = nlohmann::json::parse(JsonPlace::read(path, ErrorKind::kUsage).dump());
  const auto nanoseconds = [&](const nlohmann::json& json) {
    const auto ms = json.get<double>();
    LS_USER_CHECK(ms >= 0 && ms <= kMaxMs, "{}: damaged: a time of {} ms", path, ms);
    return static_cast<std::int64_t>(std::llround(ms * 1e6));
  };
  const auto count = [&](const nlohmann::json& json) {
    LS_USER_CHECK(json.is_number_integer() && json > 0 && json <= kMaxCount,
                  "{}: damaged: a count of {}", path, json.dump());
    return json.get<std::int64_t>();
  };
  std::vector<Cuts::Row> out;
  try {
    for (const auto& row : rows)
      out.push_back({.reason = row.at("reason").get<std::string>(),
                     .line = row.at("line").get<std::string>(),
                     .what = row.at("what").get<std::string>(),
                     .in_step = row.at("graph_break").get<bool>(),
                     .count = count(row.at("count")),
                     .waited_ns = nanoseconds(row.at("waited_ms")),
                     .idle_ns = nanoseconds(row.at("idle_ms"))});
  } catch (const nlohmann::json::exception& e) {
    raise(ErrorKind::kUsage, "{}: damaged: {}", path, e.what());
  }
  return out;
}

}  // namespace lockstep
