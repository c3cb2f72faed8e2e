// <run>/ledger.json: the time ledger of a run for programs, see core/engine/ledger.h.
//   {"steps": 198, "mean_step_ms": 5.7, "step_ms": [5.6, ...],
//    "rows": [{"program": "shard", "work": "dot", "ms": 1.9, "percent": 33.1, "commands": 8,
//              "flops": 2.6e8, "bytes": 1.1e7}, ...],
//    "commands": [{..., "detail": "dot_general f32[64,512] (...) vision.cpp:30 (fc1)"}, ...]}
#pragma once

#include <string>

#include "core/base/log.h"
#include "core/engine/ledger.h"

namespace lockstep {

/// The ledger as JSON text; all commands, like ones together.
std::string to_json(const Ledger& ledger);

/// Replaces the file. A failing disk is warned of.
void write_ledger(const std::string& path, const Ledger& ledger, Log& log);

}  // namespace lockstep
