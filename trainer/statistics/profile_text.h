// Prints profiles of a run's ranks for people and for programs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trainer/statistics/op_statistics.h"

namespace lockstep {

/// A quantile of sorted values, 0 <= q <= 1; the nearest rank.
double quantile(const std::vector<double>& sorted, double q);

/// One line each for the steps, their shares, and the rank that is late.
std::string describe_steps(const std::vector<RankProfile>& profiles);

/// The longest `max_rows` groups, one line each with time, share, minimum time, count, GFLOP/s,
/// GB/s, the ratio to the machine's limit and, for several ranks, the skew; then a line for the
/// rest. In a run with virtual time, in place of the count, virtual time and the ratio to the
/// limit of the device that the ranks stand for.
std::string describe_rows(const std::vector<RankProfile>& profiles, GroupBy by,
                          std::size_t max_rows);

/// All groups, with a header; RFC 4180.
std::string rows_csv(const std::vector<RankProfile>& profiles, GroupBy by);

/// {"ranks": [...], "limits": ..., "shares": {...}, "late": {...}, "simulated": {...}, "by": "op",
/// "rows": [...]}, an object as JSON text; "late" and "simulated" where there is one.
std::string statistics_json(const std::vector<RankProfile>& profiles, GroupBy by);

}  // namespace lockstep
