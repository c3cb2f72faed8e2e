#include "trainer/launch/start_watch.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace lockstep {
namespace {

double seconds_from(std::int64_t from_ns, std::int64_t to_ns) {
  return static_cast<double>(to_ns - from_ns) * 1e-9;
}

}  // namespace

StartWatch::StartWatch(std::vector<std::string> hosts, double max_seconds, std::int64_t now_ns,
                       Ask ask)
    : max_seconds_(max_seconds), ask_(std::move(ask)), begin_ns_(now_ns) {
  for (std::string& name : hosts)
    hosts_.push_back({.name = std::move(name), .answered_ns = now_ns});
}

void StartWatch::take_answers(std::int64_t now_ns) {
  const std::vector<std::string> silences = answers_.get();
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    hosts_[i].silence = silences[i];
    if (!silences[i].empty()) continue;
    hosts_[i].has_answered = true;
    hosts_[i].answered_ns = now_ns;
  }
}

std::vector<std::string> StartWatch::look(std::int64_t now_ns) {
  if (seconds_from(begin_ns_, now_ns) > max_seconds_)
    return {fmt::format("mpirun has started no rank in {:g} s", max_seconds_)};
  if (hosts_.empty()) return {};
  if (answers_.valid()) {
    if (answers_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return {};
    take_answers(now_ns);
  } else if (asked_ns_ < 0 || seconds_from(asked_ns_, now_ns) >= kAskEvery) {
    std::vector<std::string> names;
    names.reserve(hosts_.size());
    for (const Host& host : hosts_) names.push_back(host.name);
    answers_ = std::async(std::launch::async, [this, names] { return ask_(names); });
    asked_ns_ = now_ns;
  }
  std::vector<std::string> out;
  for (const Host& host : hosts_) {
    const double patience = host.has_answered ? kPatience : kLongPatience;
    if (!host.silence.empty() && seconds_from(host.answered_ns, now_ns) > patience)
      out.push_back(host.silence);
  }
  return out;
}

}  // namespace lockstep
