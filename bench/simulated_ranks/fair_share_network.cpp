#include "bench/simulated_ranks/fair_share_network.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/error.h"

namespace lockstep {
namespace {

// Times closer than a picosecond, and rates closer than this ratio, differ by rounding only.
constexpr double kSameNs = 1e-3;
constexpr double kSameRate = 1 + 1e-9;

}  // namespace

FairShareNetwork::FairShareNetwork(int ranks, const LinkLimits& limits)
    : bytes_per_ns_(limits.bytes_per_s * 1e-9),
      latency_ns_(limits.latency_ns),
      links_(static_cast<std::size_t>(ranks) * 2) {
  LS_USER_CHECK(limits.bytes_per_s > 0 && std::isfinite(limits.bytes_per_s),
                "a link of {} bytes/s; more than 0 are needed", limits.bytes_per_s);
  LS_USER_CHECK(limits.latency_ns >= 0, "a latency of {} ns is negative", limits.latency_ns);
}

void FairShareNetwork::set_out(const SimulatedMessage& message) {
  LS_CHECK(message.from != message.to, "rank {} sends to itself", message.from);
  const std::int64_t at = now_ns_ + latency_ns_;
  if (setting_out_.empty() || setting_out_.back().flows_at_ns != at)
    setting_out_.push_back({at, std::exchange(spare_, {})});
  setting_out_.back().flows.push_back({message, static_cast<double>(message.bytes), 0});
}

bool FairShareNetwork::advance(const std::function<void(const SimulatedMessage&)>& arrived) {
  bool any = false;
  while (!any) {
    if (flowing_.empty() && setting_out_.empty()) return false;
    std::int64_t then = next_arrival_ns();
    if (!setting_out_.empty()) then = std::min(then, setting_out_.front().flows_at_ns);
    const auto elapsed = static_cast<double>(then - now_ns_);
    now_ns_ = then;
    std::size_t kept = 0;
    for (Flow& flow : flowing_) {
      flow.left -= flow.rate * elapsed;
      if (flow.left > flow.rate * kSameNs) {
        flowing_[kept++] = flow;
        continue;
      }
      arrived(flow.message);
      any = true;
    }
    flowing_.resize(kept);
    begin_flows();
    set_rates();
  }
  return true;
}

void FairShareNetwork::begin_flows() {
  while (!setting_out_.empty() && setting_out_.front().flows_at_ns <= now_ns_) {
    std::vector<Flow>& flows = setting_out_.front().flows;
    if (flowing_.empty())
      flowing_.swap(flows);
    else
      flowing_.insert(flowing_.end(), flows.begin(), flows.end());
    flows.clear();
    if (flows.capacity() > spare_.capacity()) spare_.swap(flows);
    setting_out_.pop_front();
  }
}

void FairShareNetwork::set_rates() {
  std::fill(links_.begin(), links_.end(), Link{.free = bytes_per_ns_});
  for (Flow& flow : flowing_) {
    flow.rate = 0;
    ++up(flow).messages;
    ++down(flow).messages;
  }
  for (std::size_t left = flowing_.size(); left > 0;) left -= fill_links();
}

std::size_t FairShareNetwork::fill_links() {
  double rate = std::numeric_limits<double>::infinity();
  for (const Link& link : links_)
    if (link.messages > 0) rate = std::min(rate, link.free / link.messages);
  for (Link& link : links_)
    link.full = link.messages > 0 && link.free / link.messages <= rate * kSameRate;
  std::size_t filled = 0;
  for (Flow& flow : flowing_) {
    if (flow.rate > 0 || !(up(flow).full || down(flow).full)) continue;
    flow.rate = rate;
    ++filled;
    for (Link* link : {&up(flow), &down(flow)}) {
      link->free -= rate;
      --link->messages;
    }
  }
  return filled;
}

std::int64_t FairShareNetwork::next_arrival_ns() const {
  double least = std::numeric_limits<double>::infinity();
  for (const Flow& flow : flowing_) least = std::min(least, flow.left / flow.rate);
  if (!std::isfinite(least)) return std::numeric_limits<std::int64_t>::max();
  return now_ns_ + std::max<std::int64_t>(1, std::llround(std::ceil(least - kSameNs)));
}

}  // namespace lockstep
