#include "trainer/machine/core_share.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "core/base/cores.h"
#include "core/base/error.h"

namespace lockstep {
namespace {

using Places = std::map<int, ProcessorPlace>;

std::set<int> nodes_of(const std::vector<int>& processors, const Places& places) {
  std::set<int> out;
  for (const int processor : processors) out.insert(places.at(processor).node);
  return out;
}

std::set<int> physical_cores(const std::vector<int>& processors, const Places& places) {
  std::set<int> out;
  for (const int processor : processors) out.insert(places.at(processor).core);
  return out;
}

/// The ranks that may run on just the same processors, by their places.
std::vector<std::size_t> alike(std::size_t place, const std::vector<RankCores>& ranks) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (ranks[i].processors == ranks[place].processors) out.push_back(i);
  return out;
}

/// The processors of the NUMA node that is this rank's; all, if nodes cannot be divided.
std::vector<int> near_processors(std::size_t place, const std::vector<RankCores>& ranks,
                                 const Places& places) {
  const std::vector<int>& all = ranks[place].processors;
  const std::set<int> nodes = nodes_of(all, places);
  const std::vector<std::size_t> group = alike(place, ranks);
  if (nodes.size() < 2 || group.size() % nodes.size() != 0) return all;
  const auto at = static_cast<std::size_t>(std::ranges::find(group, place) - group.begin());
  const int own =
      *std::next(nodes.begin(), static_cast<std::ptrdiff_t>(at * nodes.size() / group.size()));
  std::vector<int> out;
  for (const int processor : all)
    if (places.at(processor).node == own) out.push_back(processor);
  return out;
}

std::string ranks_text(std::size_t ranks) {
  return ranks == 1 ? "" : fmt::format(" ({} ranks)", ranks);
}

}  // namespace

RankCores own_cores() {
  const std::vector<std::string> groups = control_groups();
  return {.processors = usable_processors(), .quota = core_quota(groups), .group = groups[0]};
}

std::string to_text(const RankCores& cores) {
  return fmt::format("{} {} {}\n{}", cores.processors.size(), fmt::join(cores.processors, " "),
                     cores.quota.value_or(0), cores.group);
}

RankCores parse_rank_cores(const std::string& text) {
  std::istringstream in(text);
  RankCores out;
  std::size_t count = 0;
  double quota = 0;
  in >> count;
  for (int processor = 0; out.processors.size() < count && in >> processor;)
    out.processors.push_back(processor);
  in >> quota;
  LS_CHECK(in && in.get() == '\n' && !out.processors.empty(), "no cores of a rank: '{}'", text);
  std::getline(in, out.group, '\0');
  if (quota > 0) out.quota = quota;
  return out;
}

CoreShare share_of(std::size_t place, const std::vector<RankCores>& ranks,
                   const std::vector<ProcessorPlace>& places) {
  Places by_number;
  for (const ProcessorPlace& each : places) by_number.emplace(each.processor, each);
  // How many ranks may use each physical core.
  std::map<int, int> users;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    for (const int core : physical_cores(near_processors(i, ranks, by_number), by_number))
      ++users[core];
  const std::vector<int> near = near_processors(place, ranks, by_number);
  const std::set<int> cores = physical_cores(near, by_number);
  double share = 0;
  int most = 1;
  for (const int core : cores) {
    share += 1.0 / users.at(core);
    most = std::max(most, users.at(core));
  }
  constexpr double kRounding = 1e-9;  // of a sum of fractions
  CoreShare out;
  out.threads = std::max(1, static_cast<int>(share + kRounding));
  if (near.size() < ranks[place].processors.size()) out.processors = near;
  out.why = fmt::format("{} core{}{}", cores.size(), cores.size() == 1 ? "" : "s",
                        most > 1 ? fmt::format(" for {} ranks", most) : "");
  if (!out.processors.empty())
    out.why += fmt::format(" of NUMA node {}", by_number.at(near[0]).node);
  const std::optional<double>& quota = ranks[place].quota;
  if (!quota) return out;
  const auto sharers = std::ranges::count(ranks, ranks[place].group, &RankCores::group);
  const int allowed = static_cast<int>(*quota / static_cast<double>(sharers) + kRounding);
  if (allowed >= out.threads) return out;
  out.threads = std::max(1, allowed);
  out.why =
      fmt::format("a quota of {:g} cores{}", *quota, ranks_text(static_cast<std::size_t>(sharers)));
  return out;
}

}  // namespace lockstep
