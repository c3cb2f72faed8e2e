#include "watch/report.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep {
namespace {

RankReport::Lane read_lane(const ActivityPage::Lane& lane) {
  RankReport::Lane out;
  const auto last = static_cast<std::uint32_t>(Phase::kIdle);
  out.phase = static_cast<Phase>(std::min(lane.phase.load(std::memory_order_acquire), last));
  out.step = lane.step_plus_one.load(std::memory_order_relaxed) - 1;
  out.what = lane.what.load();
  return out;
}

/// Phases of the loop's thread in which the device's thread tells more about the rank's work.
bool waits_for_the_device(Phase host) {
  return host == Phase::kTrace || host == Phase::kRead || host == Phase::kDeviceWait ||
         host == Phase::kInputWait || host == Phase::kSnapshot;
}

}  // namespace

RankReport read_page(const ActivityPage& page) {
  RankReport out;
  out.pid = page.pid.load(std::memory_order_relaxed);
  out.progress = page.progress.load(std::memory_order_relaxed);
  out.beat = page.beat.load(std::memory_order_relaxed);
  out.host_lane = read_lane(page.host);
  // Memory that was never written says kStart: no execution has begun.
  out.device_lane = read_lane(page.device);
  if (out.device_lane.phase == Phase::kStart) out.device_lane.phase = Phase::kIdle;
  out.waits_for_peers = page.peer_waiters.load(std::memory_order_acquire) > 0;
  if (out.waits_for_peers) {
    out.peer_wait = page.peer_wait.load();
    out.peer_step = page.peer_step_plus_one.load(std::memory_order_relaxed) - 1;
  }
  for (const ActivityPage::Foreign& call : page.foreign) {
    if (call.used.load(std::memory_order_acquire) == 0) continue;
    std::string name = call.name.load();
    const auto& known = out.foreign_calls;
    if (std::find(known.begin(), known.end(), name) == known.end())
      out.foreign_calls.push_back(std::move(name));
  }
  if (const std::uint32_t code = page.code_plus_one.load(std::memory_order_acquire); code != 0)
    out.exit_code = static_cast<int>(code) - 1;
  return out;
}

std::string describe_place(const RankReport& report) {
  const bool on_device =
      report.device_lane.phase != Phase::kIdle && waits_for_the_device(report.host_lane.phase);
  const RankReport::Lane& lane = on_device ? report.device_lane : report.host_lane;
  std::string out;
  if (lane.step >= 0) out = fmt::format("at step {} ", lane.step);
  out += fmt::format("in {}", name_of(lane.phase));
  if (!lane.what.empty()) out += fmt::format(" ({})", lane.what);
  return out;
}

std::string describe_rank(const RankReport& report) {
  return fmt::format("rank {} ({}, {})", report.rank, report.host, report.pid);
}

std::string list_ranks(const std::vector<int>& ranks) {
  constexpr std::size_t kShown = 8;
  std::string out = ranks.size() == 1 ? "rank" : "ranks";
  for (std::size_t i = 0; i < std::min(ranks.size(), kShown); ++i)
    out += fmt::format(" {}", ranks[i]);
  if (ranks.size() > kShown) out += fmt::format(" and {} more", ranks.size() - kShown);
  return out;
}

}  // namespace lockstep
