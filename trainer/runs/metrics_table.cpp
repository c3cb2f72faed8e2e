#include "trainer/runs/metrics_table.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "trainer/runs/text_table.h"

namespace lockstep {
namespace {

struct MetricsRows {
  std::vector<std::string> names = {"step", "epoch", "wall_time"};
  std::vector<std::vector<std::optional<double>>> values = {};  ///< by record, without its step
};

MetricsRows rows_of_metrics(const std::vector<TelemetryRecord>& records) {
  MetricsRows out;
  const std::size_t fixed = out.names.size();
  std::map<std::string, std::size_t> places;
  for (const TelemetryRecord& record : records)
    for (const auto& [name, value] : fields_of(record))
      if (places.try_emplace(name, fixed + places.size()).second) out.names.push_back(name);
  for (const TelemetryRecord& record : records) {
    std::vector<std::optional<double>> row(out.names.size());
    row[1] = record.epoch;
    row[2] = record.wall_time;
    for (const auto& [name, value] : fields_of(record)) row[places.at(name)] = value;
    out.values.push_back(std::move(row));
  }
  return out;
}

}  // namespace

std::string metrics_csv(const std::vector<TelemetryRecord>& records) {
  const MetricsRows rows = rows_of_metrics(records);
  TextTable table;
  for (const std::string& name : rows.names) table.columns.push_back({name});
  for (std::size_t i = 0; i < records.size(); ++i) {
    std::vector<std::string> cells{std::to_string(records[i].step)};
    for (std::size_t c = 1; c < rows.names.size(); ++c) {
      const std::optional<double>& value = rows.values[i][c];
      cells.push_back(value ? fmt::format("{}", *value) : "");
    }
    table.rows.push_back(std::move(cells));
  }
  return table.csv();
}

std::string metrics_json(const std::vector<TelemetryRecord>& records) {
  const MetricsRows rows = rows_of_metrics(records);
  std::string out = "[";
  for (std::size_t i = 0; i < records.size(); ++i) {
    nlohmann::ordered_json row{{"step", records[i].step}};
    for (std::size_t c = 1; c < rows.names.size(); ++c) {
      const std::optional<double>& value = rows.values[i][c];
      if (value && std::isfinite(*value))
        row[rows.names[c]] = *value;
      else
        row[rows.names[c]] = nullptr;
    }
    out += (i == 0 ? "\n" : ",\n") + row.dump();
  }
  return out + "\n]\n";
}

}  // namespace lockstep
