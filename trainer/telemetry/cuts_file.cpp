#include "trainer/telemetry/cuts_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

namespace lockstep {

std::string to_json(const Cuts& cuts) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const Cuts::Row& row : cuts.rows())
    out.push_back({{"reason", row.reason},
                   {"line", row.line},
                   {"what", row.what},
                   {"graph_break", row.in_step},
                   {"count", row.count},
                   {"waited_ms", static_cast<double>(row.waited_ns) * 1e-6},
                   {"idle_ms", static_cast<double>(row.idle_ns) * 1e-6}});
  return out.dump(1);
}

void write_cuts(const std::string& path, const Cuts& cuts, Log& log) {
  std::ofstream file(path, std::ios::trunc);
  file << to_json(cuts) << "\n";
  file.close();
  if (!file) log.warn("{}: the cuts could not be written: {}", path, std::strerror(errno));
}

}  // namespace lockstep
