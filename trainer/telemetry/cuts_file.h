// <run>/cuts.json: why and where steps were cut and values read, see core/observe/cuts.h.
//   [{"reason": "value read", "line": "boxes.cpp:57", "what": "f32[8,4] boxes.cpp:41 (head)",
//     "graph_break": true, "count": 30, "waited_ms": 93.1, "idle_ms": 41.7}, ...]
#pragma once

#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/observe/cuts.h"

namespace lockstep {

/// The rows as JSON text; times are sums.
std::string to_json(const std::vector<Cuts::Row>& cuts);

/// Replaces the file. Logs a warning if the disk fails.
void write_cuts(const std::string& path, const Cuts& cuts, Log& log);

/// Reads the rows that write_cuts() wrote; empty if there is no file. Error kUsage for a damaged
/// one.
std::vector<Cuts::Row> read_cuts(const std::string& path);

}  // namespace lockstep
