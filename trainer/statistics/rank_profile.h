// <run>/profile/rank-N.json: how the time of a rank's steps was spent, for each row of its ledger
// (core/observe/ledger.h), with the limits of the machine. Every rank writes its own file.
//   {"format": "lockstep profile", "version": 1, "rank": 0, "ranks": 2, "host": "a",
//    "limits": "calibrated 2026-11-23T05:40:12Z", "steps": 198, "left_out": 1,
//    "mean_step_ms": 5.7, "core_wait_ms": 0.1,
//    "wall_clock": {"ahead_ms": 0.8, "uncertainty_ms": 0.1},
//    "step_ms": [5.6, ...], "step_numbers": [1, ...],
//    "odd_steps": [{"step": 40, "ms": 12.1, "first_of_program": false,
//                   "beyond_mean_ms": {"evaluation": 6.2, "idle": 0.3},
//                   "core_wait_beyond_mean_ms": 0}, ...],
//    "buckets": {"steps": 198, "gradient_end_ms": 4.8, "update_begin_ms": 5.0,
//                "times": [{"bucket": 0, "bytes": 1048576, "begin_ms": 3.1, "end_ms": 3.9,
//                           "exposed_ms": 0}, ...]},
//    "rows": [{"program": "gradient", "work": "dot", "op": "dot_general f32[64,512] (...)",
//              "module": "fc1", "line": "vision.cpp:30", "ms": 1.9, "least_ms": 1.8,
//              "attainable_ms": 1.1, "fused_ms": 0, "commands": 8, "flops": 2.6e8,
//              "bytes": 1.1e7}, ...]}
// "buckets" are those of core/observe/bucket_times.h; they are missing if no step was measured.
// "step_numbers" are parallel to "step_ms"; "odd_steps" are those of core/observe/ledger_steps.h.
// "core_wait_ms" is the mean time for which a thread of the device had no core. "wall_clock" is
// there if the job had several hosts: how far the host's clock is ahead of that of rank 0's host.
// Files of older runs have none of these. A run with virtual time (device.profile) also has
// "simulated":
// {"device": "a100-sxm4-80gb", "steps": 199, "mean_step_ms": 1.9} and, in each row, "sim_ms": 0.4,
// "sim_attainable_ms": 0.2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/log.h"
#include "core/observe/bucket_times.h"
#include "core/observe/ledger.h"

namespace lockstep {

/// The run in virtual time.
struct SimulatedSteps {
  std::string device;  ///< that the rank stands for; "" if no virtual time was kept
  std::int64_t steps = 0;
  double mean_step_ms = 0;
};

/// A host's clock of date and time, compared with that of rank 0's host at the end of the run.
struct WallClock {
  double ahead_ms = 0;
  double uncertainty_ms = 0;  ///< either way
};

struct RankProfile {
  int rank = 0;
  int ranks = 1;            ///< of the job
  std::string host = {};    ///< its name
  std::string limits = {};  ///< MachineLimits::origin() of the limits of lower_bound_ms
  std::int64_t steps = 0;
  std::int64_t left_out = 0;  ///< additional steps: the first of each program
  double mean_step_ms = 0;
  /// Mean time for which a thread of the device had no core, see core/base/core_wait.h.
  std::optional<double> core_wait_ms = {};
  std::optional<WallClock> wall_clock = {};     ///< of a job on several hosts
  std::vector<double> step_ms = {};             ///< in order, of the last LedgerSteps::kMaxSteps
  std::vector<std::int64_t> step_numbers = {};  ///< of step_ms; empty in files of older runs
  std::vector<OddStep> odd_steps = {};          ///< in order; empty in files of older runs
  BucketMeans buckets = {};                     ///< without steps in files of older runs
  SimulatedSteps simulated = {};
  std::vector<LedgerRow> rows =
      {};  ///< they sum to mean_step_ms; virtual times to that of `simulated`
};

/// Made from the ledger; without buckets, rank, ranks, host, its clock, and limits.
RankProfile profile_of(const Ledger& ledger);

std::string to_json(const RankProfile& profile);

/// The inverse. Error kUsage, naming `where`, for text that to_json did not write.
RankProfile parse_rank_profile(std::string_view text, const std::string& where);

/// Called before a run writes profiles: removes those of an earlier run, which may have had more
/// ranks.
void remove_profiles(const std::string& run_folder);

/// Replaces the file. Logs a warning if the disk fails.
void write_profile(const std::string& run_folder, const RankProfile& profile, Log& log);

/// The profiles in the folder that belong to rank 0's job, by rank. Empty if there are none. Error
/// kUsage for a damaged one.
std::vector<RankProfile> read_profiles(const std::string& run_folder);

}  // namespace lockstep
