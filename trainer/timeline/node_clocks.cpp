#include "trainer/timeline/node_clocks.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "core/base/error.h"

namespace lockstep {
namespace {

constexpr int kExchanges = 32;

/// Zero's entry came before the rank's leaving, and the other way round.
struct Bounds {
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();

  void add(std::span<const ExchangeTimes> rank, std::span<const ExchangeTimes> zero) {
    LS_CHECK(rank.size() == zero.size(), "{} exchanges, and {}", rank.size(), zero.size());
    for (std::size_t i = 0; i < rank.size(); ++i) {
      min = std::max(min, rank[i].entered_ns - zero[i].left_ns);
      max = std::min(max, rank[i].left_ns - zero[i].entered_ns);
    }
  }
};

ClockOffset middle_of(const Bounds& bounds, std::int64_t at_ns) {
  // Because of drift the bounds of different rounds may contradict each other slightly.
  const auto [min, max] = std::minmax(bounds.min, bounds.max);
  return {at_ns, min + (max - min) / 2, (max - min + 1) / 2};
}

std::string bytes_of(const std::vector<ExchangeTimes>& times) {
  std::string out(times.size() * sizeof(ExchangeTimes), '\0');
  std::memcpy(out.data(), times.data(), out.size());
  return out;
}

std::vector<ExchangeTimes> times_in(const std::string& bytes) {
  std::vector<ExchangeTimes> out(bytes.size() / sizeof(ExchangeTimes));
  std::memcpy(out.data(), bytes.data(), out.size() * sizeof(ExchangeTimes));
  return out;
}

}  // namespace

ClockOffset bound_offset(std::span<const ExchangeTimes> rank, std::span<const ExchangeTimes> zero) {
  Bounds bounds;
  bounds.add(rank, zero);
  return middle_of(bounds, rank.empty() ? 0 : rank.back().left_ns);
}

ClockOffset compare_clocks(Communicator& communicator, const Clock& clock) {
  const Topology& topology = communicator.topology();
  if (topology.nodes() == 1) return {clock.now_ns()};
  std::vector<ExchangeTimes> mine(kExchanges);
  for (ExchangeTimes& times : mine) {
    times.entered_ns = clock.now_ns();
    communicator.exchange("clock", "");
    times.left_ns = clock.now_ns();
  }
  std::vector<std::vector<ExchangeTimes>> all;
  for (const std::string& bytes : communicator.exchange("clock readings", bytes_of(mine)))
    all.push_back(times_in(bytes));
  // All ranks of a node have the same data on its clock, and so compute the same offset.
  const std::int64_t at =
      all[static_cast<std::size_t>(topology.ranks_of(topology.node())[0])].back().left_ns;
  if (topology.node() == 0) return {at};
  Bounds bounds;
  for (const int rank : topology.ranks_of(topology.node()))
    for (const int zero : topology.ranks_of(0))
      bounds.add(all[static_cast<std::size_t>(rank)], all[static_cast<std::size_t>(zero)]);
  return middle_of(bounds, at);
}

std::int64_t NodeClock::on_timeline(std::int64_t ns) const {
  const std::int64_t span = end_.at_ns - begin_.at_ns;
  const std::int64_t drift = end_.offset_ns - begin_.offset_ns;
  if (span <= 0 || drift == 0) return ns - begin_.offset_ns;
  const double share = static_cast<double>(ns - begin_.at_ns) / static_cast<double>(span);
  return ns - begin_.offset_ns - static_cast<std::int64_t>(share * static_cast<double>(drift));
}

std::int64_t NodeClock::uncertainty_ns() const {
  return std::max(begin_.uncertainty_ns, end_.uncertainty_ns);
}

}  // namespace lockstep
