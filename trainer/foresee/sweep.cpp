#include "trainer/foresee/sweep.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <span>

#include "core/base/error.h"
#include "data/files/read_text.h"
#include "trainer/config/comma_list.h"
#include "trainer/config/yaml_tree.h"
#include "trainer/devices/device_profiles.h"
#include "trainer/foresee/memory_verdict.h"
#include "trainer/foresee/planners.h"

namespace lockstep {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kMostPoints = 10'000;

std::string joined(const std::vector<std::string>& words) {
  return words.empty() ? "-" : fmt::format("{}", fmt::join(words, " "));
}

/// Every way to take one value of each list, the last list's changing first.
std::vector<std::vector<std::string>> combinations(
    const std::vector<std::vector<std::string>>& lists) {
  std::vector<std::vector<std::string>> out{{}};
  for (const std::vector<std::string>& list : lists) {
    LS_USER_CHECK(out.size() * list.size() <= kMostPoints, "a sweep has at most {} points",
                  kMostPoints);
    std::vector<std::vector<std::string>> longer;
    for (const std::vector<std::string>& begin : out)
      for (const std::string& value : list) {
        longer.push_back(begin);
        longer.back().push_back(value);
      }
    out = std::move(longer);
  }
  return out;
}

double price_of(const Prices& prices, const std::string& device) {
  const auto found = prices.find(device);
  LS_USER_CHECK(found != prices.end(), "the prices have none of {}", device);
  return found->second;
}

/// Device seconds, or their price, of a sample: what the cheapest point has least of.
double cost_of_sample(const Foresight& foresight, const Prices& prices) {
  const double seconds = foresight.deployment.devices / foresight.samples_per_s;
  return prices.empty() ? seconds : seconds * price_of(prices, foresight.device);
}

const SweepPoint* best(const std::vector<SweepPoint>& points,
                       double (*badness)(const SweepPoint& point)) {
  const SweepPoint* out = nullptr;
  for (const SweepPoint& point : points)
    if (point.fits && (out == nullptr || badness(point) < badness(*out))) out = &point;
  return out;
}

const SweepPoint* quickest(const std::vector<SweepPoint>& points) {
  return best(points, [](const SweepPoint& point) { return -point.foresight->samples_per_s; });
}

const SweepPoint* cheapest(const std::vector<SweepPoint>& points) {
  return best(points, [](const SweepPoint& point) { return point.cost_of_sample; });
}

std::string name_of_point(const SweepPoint& point) {
  return fmt::format("{} {}", point.device, joined(point.overrides));
}

}  // namespace

Prices read_prices(const std::string& path) {
  std::vector<YamlIssue> issues;
  const YamlNode root = parse_yaml(read_text(path), issues);
  std::vector<std::string> problems;
  problems.reserve(issues.size());
  for (const YamlIssue& issue : issues)
    problems.push_back(fmt::format("{}:{}:{}: {}", path, issue.line, issue.column, issue.message));
  Prices out;
  if (issues.empty() && root.kind != YamlNode::Kind::kMap)
    problems.push_back(
        fmt::format("{}:1:1: prices are lines 'device: per_hour', not {}", path, root.describe()));
  for (const YamlEntry& entry : root.entries) {
    const auto add = [&](const std::string& what) {
      problems.push_back(fmt::format("{}:{}:{}: {}", path, entry.line, entry.column, what));
    };
    double price = 0;
    const std::string& text = entry.value.text;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), price);
    if (read.ec != std::errc{} || read.ptr != text.data() + text.size() || !(price > 0))
      add(fmt::format("the price of '{}' must be a number > 0, not {}", entry.key,
                      entry.value.describe()));
    try {
      out[device_name(entry.key)] = price;
    } catch (const Error& error) {
      add(error.what());
    }
  }
  if (!problems.empty()) raise(ErrorKind::kUsage, "{}", fmt::join(problems, "\n"));
  return out;
}

std::vector<std::string> sweep_values(const std::string& word) {
  const std::size_t equals = word.find('=');
  LS_USER_CHECK(equals != std::string::npos && equals > 0 && equals + 1 < word.size(),
                "--sweep takes key.path=a,b,c, not '{}'", word);
  const std::string key = word.substr(0, equals + 1);
  std::vector<std::string> out = split_at_commas(std::string_view(word).substr(equals + 1));
  for (std::string& value : out) value.insert(0, key);
  for (const std::string& value : out)
    LS_USER_CHECK(value.size() > key.size(), "--sweep {}: a value is empty", word);
  return out;
}

std::vector<SweepPoint> run_sweep(const std::string& config, std::vector<std::string> overrides,
                                  const std::vector<std::string>& sweeps,
                                  const std::vector<DeviceProfile>& devices,
                                  const ForeseeOptions& options, const Prices& prices,
                                  const Registry& registry) {
  std::vector<std::vector<std::string>> lists;
  lists.reserve(sweeps.size());
  for (const std::string& word : sweeps) lists.push_back(sweep_values(word));
  if (!prices.empty())
    for (const DeviceProfile& device : devices) price_of(prices, device.name);
  std::vector<SweepPoint> out;
  const std::size_t fixed = overrides.size();
  for (const std::vector<std::string>& chosen : combinations(lists)) {
    overrides.resize(fixed);
    overrides.insert(overrides.end(), chosen.begin(), chosen.end());
    const LoadedConfig loaded = load_config(config, registry, overrides);
    Planners planners(loaded.config, registry, options.max_isa);
    std::map<RunPlanner*, ForeseenStep> fixed_steps;  // of a config that depends on no device
    for (const DeviceProfile& device : devices) {
      SweepPoint point{chosen, device.name, std::nullopt};
      try {
        RunPlanner& planner = planners.of(device);
        const LoadedConfig settled = settle_micro_batch(loaded, device, options, planner);
        const bool is_auto = loaded.config.batch.micro_batch_size == kAutoMicroBatch;
        if (is_auto || !fixed_steps.contains(&planner))
          fixed_steps[&planner] = foreseen_step(settled.config, planner.plan(settled.config));
        const ForeseenStep& step = fixed_steps.at(&planner);
        point.foresight = foresee(step, settled, device, options);
        point.bytes = foreseen_memory(step, settled, options).total();
        point.fits = point.bytes <= memory_of(device, options);
        point.device_hours =
            run_hours(step, point.foresight->time) * point.foresight->deployment.devices;
        point.cost_of_sample = cost_of_sample(*point.foresight, prices);
        if (!prices.empty()) point.cost = point.device_hours * price_of(prices, device.name);
      } catch (const Error& error) {
        point.problem = error.what();
      }
      out.push_back(std::move(point));
    }
  }
  return out;
}

std::string sweep_text(const std::vector<SweepPoint>& points) {
  std::size_t width = 6;
  for (const SweepPoint& point : points) width = std::max(width, joined(point.overrides).size());
  std::string out = fmt::format("{:<22} {:<{}} {:>8} {:>11} {:>12} {:>6} {:>13} {:>11} {:>10}\n",
                                "device", "sweep", width, "devices", "step ms", "samples/s", "peak",
                                "device hours", "cost", "memory");
  for (const SweepPoint& point : points) {
    out += fmt::format("{:<22} {:<{}} ", point.device, joined(point.overrides), width);
    if (!point.foresight) {
      out += point.problem + "\n";
      continue;
    }
    const Foresight& f = *point.foresight;
    out += fmt::format(
        "{:>8} {:>11.4g} {:>12.4g} {:>5.1f}% {:>13.4g} {:>11} {:>10}{}\n", f.deployment.devices,
        1e3 * f.time.seconds, f.samples_per_s, 100 * f.time.utilization, point.device_hours,
        point.cost ? fmt::format("{:.4g}", *point.cost) : "-",
        format_bytes(static_cast<double>(point.bytes)), point.fits ? "" : " does NOT fit");
  }
  if (const SweepPoint* point = quickest(points))
    out += fmt::format("quickest: {}\n", name_of_point(*point));
  if (const SweepPoint* point = cheapest(points))
    out += fmt::format("cheapest{}: {}\n", point->cost ? "" : " in device hours",
                       name_of_point(*point));
  return out;
}

std::string sweep_json(const std::vector<SweepPoint>& points) {
  OrderedJson out = OrderedJson::object();
  out["points"] = OrderedJson::array();
  for (const SweepPoint& point : points) {
    OrderedJson each = {{"device", point.device}, {"overrides", point.overrides}};
    if (point.foresight) {
      const Foresight& f = *point.foresight;
      each.update({{"devices", f.deployment.devices},
                   {"step_ms", 1e3 * f.time.seconds},
                   {"low_ms", 1e3 * f.low},
                   {"high_ms", 1e3 * f.high},
                   {"given_steps", f.given_steps},
                   {"given_factor", f.given_factor},
                   {"samples_per_s", f.samples_per_s},
                   {"mfu", f.time.utilization},
                   {"device_hours", point.device_hours},
                   {"bytes", point.bytes},
                   {"fits", point.fits}});
      if (point.cost) each["cost"] = *point.cost;
    } else {
      each["problem"] = point.problem;
    }
    out["points"].push_back(std::move(each));
  }
  const auto index = [&](const SweepPoint* point) -> OrderedJson {
    return point == nullptr ? OrderedJson() : OrderedJson(point - points.data());
  };
  out["quickest"] = index(quickest(points));
  out["cheapest"] = index(cheapest(points));
  return out.dump(1) + "\n";
}

}  // namespace lockstep
