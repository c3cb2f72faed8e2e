#include "trainer/devices/disturbance_words.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <map>
#include <sstream>
#include <utility>

#include "core/base/error.h"

namespace lockstep {
namespace {

constexpr double kMostSlow = 1e6;
constexpr double kMostJitter = 10;
constexpr double kMostSeconds = 1e9;
constexpr const char* kWords =
    "rank=N, slow=FACTOR, steps=FIRST:LAST, link=A,B, bandwidth=SHARE, dies_at_step=STEP, "
    "detection_s=SECONDS, restart_s=SECONDS, jitter=SPREAD";

/// The words of an entry, "name=value".
class DisturbanceEntry {
 public:
  explicit DisturbanceEntry(const std::string& text) : text_(text) {
    constexpr std::array kNames{"rank",         "slow",        "steps",     "link",  "bandwidth",
                                "dies_at_step", "detection_s", "restart_s", "jitter"};
    std::istringstream words(text);
    for (std::string word; words >> word;) {
      const std::size_t equals = word.find('=');
      const std::string name = word.substr(0, equals);
      const bool known = std::ranges::find(kNames, name) != kNames.end();
      check(known && equals != std::string::npos, fmt::format("'{}' is none of {}", word, kWords));
      check(values_.emplace(name, word.substr(equals + 1)).second,
            fmt::format("'{}' is given twice", name));
    }
    check(!values_.empty(), "it is empty");
  }

  void check(bool good, const std::string& problem) const {
    if (!good) raise(ErrorKind::kUsage, "device.simulate: '{}': {}", text_, problem);
  }
  bool has(const std::string& name) const { return values_.contains(name); }
  /// Whether these are its words, the last of which may be missing.
  bool is(std::initializer_list<const char*> names) const {
    return values_.size() <= names.size() &&
           std::ranges::all_of(values_,
                               [&](const auto& word) {
                                 return std::ranges::find(names, word.first) != names.end();
                               }) &&
           std::all_of(names.begin(), names.end() - 1, [&](const char* n) { return has(n); });
  }

  template <class T>
  T number(const std::string& name) const {
    return parse<T>(name, values_.at(name));
  }
  /// Above 0.
  double positive(const std::string& name, double most) const {
    const auto out = number<double>(name);
    check(out > 0 && out <= most, fmt::format("{} must be > 0 and <= {}", name, most));
    return out;
  }
  double seconds(const std::string& name) const {
    if (!has(name)) return 0;
    const auto out = number<double>(name);
    check(out >= 0 && out <= kMostSeconds,
          fmt::format("{} must be >= 0 and <= {}", name, kMostSeconds));
    return out;
  }
  int rank(const SimulatedDevices& devices) const { return known(number<int>("rank"), devices); }
  /// A,B
  std::pair<int, int> link(const SimulatedDevices& devices) const {
    const std::string& value = values_.at("link");
    const std::size_t comma = value.find(',');
    check(comma != std::string::npos, "a link is between two ranks, A,B");
    const int a = known(parse<int>("link", value.substr(0, comma)), devices);
    const int b = known(parse<int>("link", value.substr(comma + 1)), devices);
    check(a != b, "a link is between two ranks, and these are one");
    check(a / devices.on_device != b / devices.on_device, "these ranks share a device");
    return std::minmax(a, b);
  }
  /// FIRST:LAST, or all.
  StepRange steps() const {
    if (!has("steps")) return {};
    const std::string& value = values_.at("steps");
    const std::size_t colon = value.find(':');
    check(colon != std::string::npos, "steps are FIRST:LAST, both included");
    const StepRange out{parse<std::int64_t>("steps", value.substr(0, colon)),
                        parse<std::int64_t>("steps", value.substr(colon + 1))};
    check(0 <= out.first && out.first <= out.last,
          "steps begin at 0 and end no earlier than they begin");
    return out;
  }

 private:
  int known(int rank, const SimulatedDevices& devices) const {
    check(rank >= 0 && rank < devices.ranks,
          fmt::format("there is no rank {}: the job has {}", rank, devices.ranks));
    return rank;
  }

  template <class T>
  T parse(const std::string& name, const std::string& value) const {
    T out{};
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out);
    check(error == std::errc() && end == value.data() + value.size(),
          fmt::format("{} '{}' is not a number", name, value));
    return out;
  }

  const std::string& text_;
  std::map<std::string, std::string> values_;
};

/// Adds entries, which must not contradict those before them.
class DisturbanceReader {
 public:
  explicit DisturbanceReader(const SimulatedDevices& devices) : devices_(devices) {}

  void add(const DisturbanceEntry& entry) {
    if (entry.has("jitter"))
      add_jitter(entry);
    else if (entry.has("link") || entry.has("bandwidth"))
      add_link(entry);
    else if (entry.has("dies_at_step"))
      add_death(entry);
    else if (entry.has("detection_s") || entry.has("restart_s"))
      add_restart(entry);
    else
      add_slow_rank(entry);
  }

  Disturbances out;

 private:
  void add_jitter(const DisturbanceEntry& entry) {
    entry.check(entry.is({"jitter"}), "jitter is of all ranks and steps, and stands alone");
    entry.check(out.jitter == 0, "jitter is given twice");
    out.jitter = entry.positive("jitter", kMostJitter);
  }

  void add_link(const DisturbanceEntry& entry) {
    entry.check(entry.is({"link", "bandwidth", "steps"}),
                "a slow link needs link=A,B and bandwidth=SHARE, and may have steps=FIRST:LAST");
    const auto [a, b] = entry.link(devices_);
    const SlowLink link{.a = a,
                        .b = b,
                        .between_nodes = a / devices_.on_node != b / devices_.on_node,
                        .bandwidth = entry.positive("bandwidth", 1),
                        .steps = entry.steps()};
    for (const SlowLink& other : out.slow_links)
      entry.check(other.a != a || other.b != b || !other.steps.overlaps(link.steps),
                  "another entry says something else of this link in these steps");
    out.slow_links.push_back(link);
  }

  void add_death(const DisturbanceEntry& entry) {
    entry.check(entry.is({"rank", "dies_at_step"}), "a death needs rank=N and dies_at_step=STEP");
    const Death death{.rank = entry.rank(devices_),
                      .step = entry.number<std::int64_t>("dies_at_step")};
    entry.check(death.step >= 0, "the first step is 0");
    entry.check(std::ranges::find(out.deaths, death) == out.deaths.end(), "it is given twice");
    out.deaths.push_back(death);
  }

  void add_restart(const DisturbanceEntry& entry) {
    entry.check(entry.is({"detection_s", "restart_s"}) || entry.is({"restart_s", "detection_s"}),
                "detection_s and restart_s are of all deaths, and stand alone");
    entry.check(out.detection_s == 0 && out.restart_s == 0, "another entry says it, too");
    out.detection_s = entry.seconds("detection_s");
    out.restart_s = entry.seconds("restart_s");
  }

  void add_slow_rank(const DisturbanceEntry& entry) {
    entry.check(entry.is({"rank", "slow", "steps"}),
                "a slow rank needs rank=N and slow=FACTOR, and may have steps=FIRST:LAST");
    const SlowRank slow{.rank = entry.rank(devices_),
                        .slow = entry.positive("slow", kMostSlow),
                        .steps = entry.steps()};
    for (const SlowRank& other : out.slow_ranks)
      entry.check(other.rank != slow.rank || !other.steps.overlaps(slow.steps),
                  "another entry says something else of this rank in these steps");
    out.slow_ranks.push_back(slow);
  }

  const SimulatedDevices& devices_;
};

}  // namespace

Disturbances parse_disturbances(std::span<const std::string> entries, std::uint64_t seed,
                                const SimulatedDevices& devices) {
  DisturbanceReader reader(devices);
  reader.out.seed = seed;
  for (const std::string& text : entries) reader.add(DisturbanceEntry(text));
  return reader.out;
}

}  // namespace lockstep
