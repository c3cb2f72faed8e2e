// Statistics of ops over the ranks of a run: the time of each, its ratio to the machine's limits,
// and the rank that is late.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/observe/ledger_rows.h"
#include "trainer/statistics/rank_profile.h"

namespace lockstep {

/// A group of rows over ranks.
struct OpStatistics {
  LedgerRow mean;               ///< over the ranks
  std::vector<double> rank_ms;  ///< of each rank, in the order of the profiles
  /// How much longer the slowest rank takes than the mean: 0.1 is 10 %.
  double skew() const;
  /// Index of the slowest.
  std::size_t slowest() const;
  /// The lower bound by the machine's limits over the measured time: 1 is the limit. Nothing for
  /// rows that are not bundles.
  std::optional<double> of_limit() const;
  /// The same in virtual time, by the limits of the device that the ranks stand for.
  std::optional<double> of_virtual_limit() const;
};

/// Sorted by mean time, the longest first.
std::vector<OpStatistics> op_statistics(const std::vector<RankProfile>& profiles, GroupBy by);

/// The main parts of a step's time.
enum class TimeShare : std::uint8_t {
  kDevice,     ///< bundles, with copies of donated memory and the state check
  kAllReduce,  ///< gradient sums, waiting for buckets, collectives
  kHost,       ///< idle and inputs, dispatch, functions on the host
  kPauses,     ///< checkpoints, evaluations, reads of values
  kOther,
};
inline constexpr std::size_t kTimeShareCount = static_cast<std::size_t>(TimeShare::kOther) + 1;

TimeShare share_of(const LedgerRow& row);

struct StepShares {
  std::array<double, kTimeShareCount> ms{};
  double fused_ms = 0;        ///< part of the device's time
  double bundled_ms = 0;      ///< bundles that have a limit
  double lower_bound_ms = 0;  ///< the lower bound of those by the machine's limits

  double operator[](TimeShare share) const { return ms[static_cast<std::size_t>(share)]; }
};

/// Means over the ranks.
StepShares step_shares(const std::vector<RankProfile>& profiles);

/// The mean over the ranks.
double mean_step_ms(const std::vector<RankProfile>& profiles);

/// The time of a part of the step that is no bundle, "all-reduce" or "idle", in a rank's ledger.
double part_ms(const RankProfile& profile, std::string_view work);

/// A rank whose device's threads wait the longest for a core, which others use.
struct CoreWaitOfRank {
  std::size_t index = 0;  ///< in the profiles
  double ms = 0;          ///< a step
};

/// Nothing if it is below 2 % of a step, or was not measured.
std::optional<CoreWaitOfRank> long_core_wait(const std::vector<RankProfile>& profiles);

/// The hosts that the ranks run on.
int count_hosts(const std::vector<RankProfile>& profiles);

/// The rank for whose gradients the others wait: its own work, without waiting for buckets, takes
/// the longest of all ranks.
struct LateRank {
  std::size_t index = 0;  ///< in the profiles
  double work_ms = 0;     ///< a step
  double others_ms = 0;   ///< the mean of the other ranks' work
  std::string most;  ///< the part that exceeds the others' by the most: "gradient dot", "step idle"
  double most_ms = 0;  ///< the excess of that part
};

/// Nothing for one rank, or if no rank's work exceeds the others' by 1 %.
std::optional<LateRank> late_rank(const std::vector<RankProfile>& profiles);

}  // namespace lockstep
