#include "trainer/foresee/given_words.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>

#include "core/base/error.h"
#include "core/base/suggest.h"
#include "data/files/read_text.h"
#include "trainer/config/comma_list.h"
#include "trainer/devices/device_profiles.h"
#include "trainer/foresee/named_choice.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

constexpr std::string_view kKeys[] = {
    "step_ms",           "device", "devices",   "nodes",      "math", "micro_batch_size",
    "global_batch_size", "config", "execution", "parallelism"};

/// One measured step before its keys are understood.
struct GivenWords {
  std::string where;  ///< "--given step_ms=1", "rows.csv:3"
  std::map<std::string, std::string, std::less<>> values;
};

void check_given_key(const std::string& where, std::string_view key) {
  const bool known =
      key.find('.') != std::string_view::npos || std::ranges::find(kKeys, key) != std::end(kKeys);
  LS_USER_CHECK(known, "{}: unknown key '{}'{}", where, key,
                did_you_mean(nearest_word(key, kKeys)));
}

GivenWords read_pairs(const std::string& word) {
  GivenWords out{"--given " + word, {}};
  for (const std::string& pair : split_at_commas(word)) {
    const std::size_t equals = pair.find('=');
    LS_USER_CHECK(equals != std::string::npos && equals > 0 && equals + 1 < pair.size(),
                  "{}: takes key=value,... or a .csv file that exists, not '{}'", out.where, pair);
    const std::string key = pair.substr(0, equals);
    check_given_key(out.where, key);
    LS_USER_CHECK(out.values.emplace(key, pair.substr(equals + 1)).second,
                  "{}: '{}' is given twice", out.where, key);
  }
  LS_USER_CHECK(out.values.contains("step_ms"), "{}: step_ms is missing", out.where);
  return out;
}

/// The cells of a line of a .csv file; one in quotes may hold commas, and two quotes stand for one.
std::vector<std::string> csv_cells(std::string_view line) {
  std::vector<std::string> out{""};
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && line.substr(i + 1).starts_with('"')) {
      out.back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

std::vector<GivenWords> read_csv(const std::string& path) {
  std::istringstream file(read_text(path));
  std::vector<GivenWords> out;
  std::vector<std::string> header;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    const std::string where = fmt::format("{}:{}", path, number);
    const std::vector<std::string> cells = csv_cells(line);
    if (header.empty()) {
      header = cells;
      for (const std::string& key : header) check_given_key(where, key);
      LS_USER_CHECK(std::ranges::find(header, "step_ms") != header.end(),
                    "{}: there is no column step_ms", where);
      continue;
    }
    LS_USER_CHECK(cells.size() == header.size(), "{}: {} cells, and the header has {}", where,
                  cells.size(), header.size());
    out.push_back({where, {}});
    for (std::size_t i = 0; i < cells.size(); ++i)
      if (!cells[i].empty()) out.back().values[header[i]] = cells[i];
    LS_USER_CHECK(out.back().values.contains("step_ms"), "{}: step_ms is missing", where);
  }
  LS_USER_CHECK(!out.empty(), "{}: there is no row", path);
  return out;
}

template <class T>
T positive(const std::string& key, const std::string& text) {
  T out = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, out);
  constexpr bool whole = std::is_integral_v<T>;
  LS_USER_CHECK(read.ec == std::errc{} && read.ptr == end && out > 0 && out < T{1} * (1 << 30),
                "{} must be {} > 0, not '{}'", key, whole ? "an integer" : "a number", text);
  return out;
}

class GivenReader {
 public:
  GivenReader(const std::string& config, const std::vector<std::string>& overrides,
              std::span<const DeviceProfile> devices, const ForeseeOptions& options,
              const Registry& registry)
      : config_(config),
        overrides_(overrides),
        devices_(devices),
        options_(options),
        registry_(registry) {}

  void add(const GivenWords& words, GivenSteps& to) {
    try {
      const double ms = positive<double>("step_ms", words.values.at("step_ms"));
      const DeviceProfile& device = device_of(words);
      LS_USER_CHECK(!device.calibrated,
                    "given steps correct profiles of other devices: `lockstep calibrate` measures "
                    "{} itself",
                    device.name);
      const ForeseeOptions options = options_of(words, device);
      const Recorded& recorded = record(words);
      const DeployedStep deployed = deploy(recorded.step, recorded.config, device, options);
      check_possible(ms, deployed, device);
      to[device.name].push_back(
          {foreseen_time(deployed.work, device, deployed.deployment, fitted_constants()),
           1e-3 * ms});
    } catch (const Error& error) {
      raise(ErrorKind::kUsage, "{}: {}", words.where, error.what());
    }
  }

 private:
  /// Products at the peak take the least time that there is: a shorter step is of another job.
  static void check_possible(double ms, const DeployedStep& step, const DeviceProfile& device) {
    const StepTime time =
        step_time(step.work, device, step.deployment, fitted_constants().constants);
    const double least = 1e3 * time.seconds * time.utilization;
    LS_USER_CHECK(ms >= least,
                  "step_ms {} is less than the {:.4g} ms that the step's products take at the peak "
                  "of {} in {}: check batch, devices and math (tf32 is not fp32)",
                  ms, least, device.name, name_of(step.deployment.math));
  }

  struct Recorded {
    LoadedConfig config;
    ForeseenStep step;
  };

  static std::optional<std::string> value(const GivenWords& words, std::string_view key) {
    const auto found = words.values.find(key);
    return found == words.values.end() ? std::nullopt : std::optional(found->second);
  }

  const DeviceProfile& device_of(const GivenWords& words) const {
    std::vector<std::string_view> names;
    names.reserve(devices_.size());
    for (const DeviceProfile& device : devices_) names.push_back(device.name);
    const auto given = value(words, "device");
    if (!given) {
      LS_USER_CHECK(devices_.size() == 1, "say device=, which of {} the step was measured on",
                    fmt::join(names, ", "));
      return devices_.front();
    }
    const auto found = std::ranges::find(names, device_name(*given));
    LS_USER_CHECK(found != names.end(), "device must be one of those of --device, {}, not '{}'",
                  fmt::join(names, ", "), *given);
    return devices_[static_cast<std::size_t>(found - names.begin())];
  }

  ForeseeOptions options_of(const GivenWords& words, const DeviceProfile& device) const {
    ForeseeOptions out = options_;
    const auto devices = value(words, "devices"), nodes = value(words, "nodes");
    if (nodes) out.nodes = positive<int>("nodes", *nodes);
    if (devices) {
      const int count = positive<int>("devices", *devices);
      if (!nodes) out.nodes = 1;
      LS_USER_CHECK(nodes || !device.node_devices || count <= device.node_devices->value,
                    "devices {} are more than the {} of a node of {}; say nodes= too", count,
                    device.node_devices->value, device.name);
      LS_USER_CHECK(count % out.nodes == 0, "devices {} cannot be divided over {} nodes", count,
                    out.nodes);
      out.per_node = count / out.nodes;
    }
    if (const auto name = value(words, "math"))
      out.math = named_choice<MathType>("math", *name, kMathTypes);
    if (const auto name = value(words, "execution"))
      out.deployment.execution = named_choice<Execution>("execution", *name, kExecutions);
    if (const auto name = value(words, "parallelism"))
      out.deployment.parallelism = named_choice<Parallelism>("parallelism", *name, kParallelisms);
    return out;
  }

  /// The step of its config; many steps are often of one.
  const Recorded& record(const GivenWords& words) {
    const auto file = value(words, "config");
    std::vector<std::string> all = file ? std::vector<std::string>() : overrides_;
    for (const auto& [key, text] : words.values) {
      if (key.ends_with("_batch_size") && key.find('.') == std::string::npos)
        all.push_back(fmt::format("training.{}={}", key, text));
      else if (key.find('.') != std::string::npos)
        all.push_back(fmt::format("{}={}", key, text));
    }
    const auto key = std::pair(file.value_or(config_), all);
    const auto found = recorded_.find(key);
    if (found != recorded_.end()) return found->second;
    const LoadedConfig loaded = load_config(key.first, registry_, all);
    LS_USER_CHECK(loaded.config.batch.micro_batch_size != kAutoMicroBatch,
                  "the config leaves the micro-batch to the run; say micro_batch_size=");
    return recorded_.emplace(key, Recorded{loaded, foresee_step(loaded.config, registry_)})
        .first->second;
  }

  const std::string& config_;
  const std::vector<std::string>& overrides_;
  std::span<const DeviceProfile> devices_;
  const ForeseeOptions& options_;
  const Registry& registry_;
  std::map<std::pair<std::string, std::vector<std::string>>, Recorded> recorded_;
};

}  // namespace

GivenSteps read_given(const std::vector<std::string>& words, const std::string& config,
                      const std::vector<std::string>& overrides,
                      std::span<const DeviceProfile> devices, const ForeseeOptions& options,
                      const Registry& registry) {
  GivenReader reader(config, overrides, devices, options, registry);
  GivenSteps out;
  for (const std::string& word : words) {
    if (word.ends_with(".csv") && std::filesystem::exists(word)) {
      for (const GivenWords& row : read_csv(word)) reader.add(row, out);
    } else {
      reader.add(read_pairs(word), out);
    }
  }
  return out;
}

}  // namespace lockstep
