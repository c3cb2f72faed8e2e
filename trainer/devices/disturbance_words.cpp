#include "trainer/devices/disturbance_words.h"

#include <charconv>
#include <map>
#include <optional>
#include <sstream>

#include "core/base/error.h"

namespace lockstep {
namespace {

constexpr double kMostSlow = 1e6;
constexpr double kMostJitter = 10;

/// The words of an entry, "name=value".
class DisturbanceEntry {
 public:
  explicit DisturbanceEntry(const std::string& text) : text_(text) {
    std::istringstream words(text);
    for (std::string word; words >> word;) {
      const std::size_t equals = word.find('=');
      const std::string name = word.substr(0, equals);
      const bool known = name == "rank" || name == "slow" || name == "steps" || name == "jitter";
      check(known && equals != std::string::npos,
            fmt::format("'{}' is none of rank=N, slow=FACTOR, steps=FIRST:LAST, jitter=SPREAD",
                        word));
      check(values_.emplace(name, word.substr(equals + 1)).second,
            fmt::format("'{}' is given twice", name));
    }
    check(!values_.empty(), "it is empty");
  }

  void check(bool good, const std::string& problem) const {
    if (!good) raise(ErrorKind::kUsage, "device.simulate: '{}': {}", text_, problem);
  }
  bool has(const std::string& name) const { return values_.contains(name); }
  std::size_t count() const { return values_.size(); }

  template <class T>
  T number(const std::string& name) const {
    return parse<T>(name, values_.at(name));
  }
  /// FIRST:LAST
  void steps(std::int64_t& first, std::int64_t& last) const {
    const std::string& value = values_.at("steps");
    const std::size_t colon = value.find(':');
    check(colon != std::string::npos, "steps are FIRST:LAST, both included");
    first = parse<std::int64_t>("steps", value.substr(0, colon));
    last = parse<std::int64_t>("steps", value.substr(colon + 1));
    check(0 <= first && first <= last, "steps begin at 0 and end no earlier than they begin");
  }

 private:
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

}  // namespace

Disturbances parse_disturbances(std::span<const std::string> entries, std::uint64_t seed,
                                int ranks) {
  Disturbances out;
  out.seed = seed;
  for (const std::string& text : entries) {
    const DisturbanceEntry entry(text);
    if (entry.has("jitter")) {
      entry.check(entry.count() == 1, "jitter is of all ranks and steps, and stands alone");
      entry.check(out.jitter == 0, "jitter is given twice");
      out.jitter = entry.number<double>("jitter");
      entry.check(out.jitter > 0 && out.jitter <= kMostJitter,
                  fmt::format("jitter must be > 0 and <= {}", kMostJitter));
      continue;
    }
    entry.check(entry.has("rank") && entry.has("slow"), "a slow rank needs rank=N and slow=FACTOR");
    SlowRank slow{.rank = entry.number<int>("rank"), .slow = entry.number<double>("slow")};
    entry.check(slow.rank >= 0 && slow.rank < ranks,
                fmt::format("there is no rank {}: the job has {}", slow.rank, ranks));
    entry.check(slow.slow > 0 && slow.slow <= kMostSlow,
                fmt::format("slow must be > 0 and <= {}", kMostSlow));
    if (entry.has("steps")) entry.steps(slow.first_step, slow.last_step);
    out.slow_ranks.push_back(slow);
  }
  return out;
}

}  // namespace lockstep
