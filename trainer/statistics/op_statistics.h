// Statistics of ops over the ranks of a run: what took how long, how that compares with what the
// machine allows, which rank is late.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/ledger_rows.h"
#include "trainer/statistics/rank_profile.h"

namespace lockstep {

/// A group of rows over ranks.
struct OpStatistics {
  LedgerRow mean;               ///< over the ranks
  std::vector<double> rank_ms;  ///< of each rank, in the order of the profiles
  /// How much longer the slowest rank takes than the mean: 0.1 is a tenth.
  double skew() const;
  /// Index of the slowest.
  std::size_t slowest() const;
  /// Of what the machine's limits allow, 1 is all; nothing for what is no launch.
  std::optional<double> of_limit() const;
};

/// The longest first, by their mean.
std::vector<OpStatistics> op_statistics(const std::vector<RankProfile>& profiles, GroupBy by);

/// What a step's time is, in large.
enum class TimeShare : std::uint8_t {
  kDevice,     ///< launches, with copies of donated memory and the state check
  kAllReduce,  ///< gradient sums, waiting for buckets, collectives
  kHost,       ///< idle and inputs, dispatch, functions on the host
  kPauses,     ///< checkpoints, evaluations, reads of values
  kOther,
};
inline constexpr std::size_t kTimeShareCount = static_cast<std::size_t>(TimeShare::kOther) + 1;

struct StepShares {
  std::array<double, kTimeShareCount> ms{};
  double fused_ms = 0;       ///< of the device's
  double launched_ms = 0;    ///< launches that have a limit
  double attainable_ms = 0;  ///< what the machine allows those

  double operator[](TimeShare share) const { return ms[static_cast<std::size_t>(share)]; }
};

/// Means over the ranks.
StepShares step_shares(const std::vector<RankProfile>& profiles);

/// The rank for whose gradients the others wait: of all ranks its own work, what is not waiting for
/// buckets, takes longest.
struct LateRank {
  std::size_t index = 0;  ///< in the profiles
  double work_ms = 0;     ///< a step
  double others_ms = 0;   ///< the mean of the other ranks' work
  std::string most;       ///< what of it exceeds the others' most: "shard dot", "step idle"
  double most_ms = 0;     ///< by so much
};

/// Nothing for one rank, and if no rank's work exceeds the others' by a hundredth.
std::optional<LateRank> late_rank(const std::vector<RankProfile>& profiles);

}  // namespace lockstep
