#include "trainer/telemetry/ledger_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

Json rows_json(const std::vector<LedgerRow>& rows, double step_ms) {
  Json out = Json::array();
  for (const LedgerRow& row : rows) {
    Json json{{"program", row.program},
              {"work", row.work},
              {"ms", row.ms},
              {"least_ms", row.least_ms},
              {"percent", step_ms > 0 ? 100 * row.ms / step_ms : 0},
              {"commands", row.commands},
              {"flops", row.flops},
              {"bytes", row.bytes}};
    if (!row.detail.empty()) json["detail"] = row.detail;
    out.push_back(std::move(json));
  }
  return out;
}

}  // namespace

std::string to_json(const Ledger& ledger) {
  const std::vector<double> steps = ledger.step_ms();
  const double mean = ledger.mean_step_ms();
  const Json out{
      {"steps", steps.size()},
      {"mean_step_ms", mean},
      {"step_ms", steps},
      {"rows", rows_json(ledger.rows(), mean)},
      {"commands", rows_json(ledger.top_commands(std::numeric_limits<std::size_t>::max()), mean)}};
  return out.dump(1);
}

void write_ledger(const std::string& path, const Ledger& ledger, Log& log) {
  std::ofstream file(path, std::ios::trunc);
  file << to_json(ledger) << "\n";
  file.close();
  if (!file) log.warn("{}: the ledger could not be written: {}", path, std::strerror(errno));
}

}  // namespace lockstep
