// Profiles of a run's ranks for people and for programs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trainer/statistics/op_statistics.h"

namespace lockstep {

/// A line each on the steps, their shares, and the rank that is late.
std::string describe_steps(const std::vector<RankProfile>& profiles);

/// The longest `most` groups, a line each with time, share, least time, count, GFLOP/s, GB/s, the
/// part of the machine's limit and, of several ranks, the skew; then a line on the rest.
std::string describe_rows(const std::vector<RankProfile>& profiles, GroupBy by, std::size_t most);

/// All groups, with a header; RFC 4180.
std::string rows_csv(const std::vector<RankProfile>& profiles, GroupBy by);

/// {"ranks": [...], "limits": ..., "shares": {...}, "late": {...}, "by": "op", "rows": [...]}, an
/// object as JSON text.
std::string statistics_json(const std::vector<RankProfile>& profiles, GroupBy by);

}  // namespace lockstep
