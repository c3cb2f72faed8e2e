// <run>/profile/rank-N.json: where the time of a rank's steps went, row by row of its ledger
// (core/engine/ledger.h), beside what the machine allows. Every rank writes its own.
//   {"format": "lockstep profile", "version": 1, "rank": 0, "ranks": 2, "host": "a",
//    "limits": "calibrated 2026-11-23T05:40:12Z", "steps": 198, "left_out": 1,
//    "mean_step_ms": 5.7,
//    "step_ms": [5.6, ...],
//    "rows": [{"program": "shard", "work": "dot", "op": "dot_general f32[64,512] (...)",
//              "module": "fc1", "line": "vision.cpp:30", "ms": 1.9, "least_ms": 1.8,
//              "attainable_ms": 1.1, "fused_ms": 0, "commands": 8, "flops": 2.6e8,
//              "bytes": 1.1e7}, ...]}
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/log.h"
#include "core/engine/ledger.h"

namespace lockstep {

struct RankProfile {
  int rank = 0;
  int ranks = 1;       ///< of the job
  std::string host;    ///< its name
  std::string limits;  ///< MachineLimits::origin() of what attainable_ms goes by
  std::int64_t steps = 0;
  std::int64_t left_out = 0;  ///< more: the first of each program
  double mean_step_ms = 0;
  std::vector<double> step_ms;  ///< in order, of the last Ledger::kMaxSteps
  std::vector<LedgerRow> rows;  ///< they sum to mean_step_ms
};

/// With what the ledger knows; without rank, ranks, host and limits.
RankProfile profile_of(const Ledger& ledger);

std::string to_json(const RankProfile& profile);

/// The inverse. Error kUsage, naming `where`, for text that is none of to_json.
RankProfile parse_rank_profile(std::string_view text, const std::string& where);

/// Before a run writes profiles: those of an earlier one, perhaps of more ranks, are gone.
void remove_profiles(const std::string& run_folder);

/// Replaces the file. A failing disk is warned of.
void write_profile(const std::string& run_folder, const RankProfile& profile, Log& log);

/// By rank: those that are in the folder, of the job that rank 0 was in. Empty if there are none.
/// Error kUsage for a damaged one.
std::vector<RankProfile> read_profiles(const std::string& run_folder);

}  // namespace lockstep
