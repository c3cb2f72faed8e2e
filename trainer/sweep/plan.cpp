#include "trainer/sweep/plan.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <variant>

#include "core/base/error.h"
#include "core/base/rng.h"
#include "trainer/config/schema.h"
#include "trainer/config/show.h"
#include "trainer/sweep/axis.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostSweptPoints = 10'000;
constexpr std::size_t kNameLength = 120;
constexpr std::size_t kShownProblems = 20;
/// How often a draw that gave an earlier point is repeated.
constexpr int kDraws = 100;

/// What the sweep itself sets.
constexpr std::array<std::string_view, 3> kOwnKeys = {"run.name", "run.dir", "checkpoint.resume"};

std::vector<SweepAxis> parse_axes(const std::vector<std::string>& words) {
  std::vector<SweepAxis> out;
  std::set<std::string> keys;
  for (const std::string& word : words) {
    SweepAxis axis = parse_axis(word);
    const bool is_place = axis.key == "run.dir" && axis.is_fixed();
    LS_USER_CHECK(is_place || std::ranges::find(kOwnKeys, axis.key) == kOwnKeys.end(),
                  "{}: the sweep sets '{}' itself; --name chooses the folder of its runs", word,
                  axis.key);
    LS_USER_CHECK(keys.insert(axis.key).second, "{}: '{}' is given twice; list all of its values",
                  word, axis.key);
    out.push_back(std::move(axis));
  }
  return out;
}

bool is_whole(const Schema& schema, const std::string& key) {
  const ConfigKey* found = schema.find(key);
  return found != nullptr && std::holds_alternative<Member<std::int64_t>>(found->member);
}

/// The parts of keys that tell them apart: "learning_rate", or the path if two end alike.
std::map<std::string, std::string> short_names(const std::vector<std::string>& keys) {
  std::map<std::string, int> ends;
  const auto end_of = [](const std::string& key) { return key.substr(key.rfind('.') + 1); };
  for (const std::string& key : keys) ++ends[end_of(key)];
  std::map<std::string, std::string> out;
  for (const std::string& key : keys) out[key] = ends[end_of(key)] == 1 ? end_of(key) : key;
  return out;
}

/// A value in a file's name: "[32, 16]" as "32,16", and '_' for what shells or paths take for
/// something else.
std::string file_word(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                          std::string_view("._+-=,").find(c) != std::string_view::npos;
    if (is_plain)
      out += c;
    else if (std::string_view("[]\"' ").find(c) == std::string_view::npos)
      out += '_';
  }
  return out;
}

using PointValues = std::vector<std::string>;  ///< one of each axis

std::vector<PointValues> all_combinations(const std::vector<SweepAxis>& axes,
                                          const Schema& schema) {
  std::vector<PointValues> out{{}};
  for (const SweepAxis& axis : axes) {
    LS_USER_CHECK(!axis.range || axis.range->count > 0,
                  "{}: the range has no count; write {}..{}:COUNT, or draw with --random N",
                  axis.key, axis.range->low, axis.range->high);
    const PointValues values =
        axis.range ? axis.range->spaced(is_whole(schema, axis.key)) : axis.values;
    LS_USER_CHECK(out.size() * values.size() <= kMostSweptPoints, "a sweep has at most {} points",
                  kMostSweptPoints);
    std::vector<PointValues> longer;
    for (const PointValues& begin : out)
      for (const std::string& value : values) {
        longer.push_back(begin);
        longer.back().push_back(value);
      }
    out = std::move(longer);
  }
  return out;
}

std::vector<PointValues> drawn(const std::vector<SweepAxis>& axes, const Schema& schema,
                               const SweepRequest& request) {
  const RngKey key{.seed = request.seed, .stream = rng_stream("sweep")};
  std::uint64_t position = 0;
  const auto uniform = [&] { return uniform_from_bits(random_word(key, position++)); };
  std::vector<PointValues> out;
  std::set<PointValues> known;
  for (int i = 0; i < request.random; ++i) {
    bool is_new = false;
    for (int attempt = 0; attempt < kDraws && !is_new; ++attempt) {
      PointValues values;
      for (const SweepAxis& axis : axes) {
        const double part = uniform();
        values.push_back(axis.range ? axis.range->at(part, is_whole(schema, axis.key))
                                    : axis.values[static_cast<std::size_t>(
                                          part * static_cast<double>(axis.values.size()))]);
      }
      is_new = known.insert(values).second;
      if (is_new) out.push_back(std::move(values));
    }
    LS_USER_CHECK(is_new,
                  "--random {}: after {} points {} draws gave none that is new; draw fewer points, "
                  "or leave out --random to run all combinations",
                  request.random, out.size(), kDraws);
  }
  return out;
}

/// Errors of all points, each once.
class PointProblems {
 public:
  void add(const std::string& message) {
    if (known_.insert(message).second) texts_.push_back(message);
  }
  void raise_if_any() const {
    if (texts_.empty()) return;
    const std::size_t shown = std::min(texts_.size(), kShownProblems);
    std::string text = fmt::format(
        "{}", fmt::join(texts_.begin(), texts_.begin() + static_cast<long>(shown), "\n"));
    if (shown < texts_.size()) text += fmt::format("\nand {} more", texts_.size() - shown);
    raise(ErrorKind::kUsage, "{}", text);
  }

 private:
  std::set<std::string> known_;
  std::vector<std::string> texts_;
};

void check_metric(const SweepRequest& request, const LoadedConfig& loaded) {
  if (!request.metric.starts_with("eval/")) return;
  LS_USER_CHECK(loaded.config.eval.interval > 0,
                "--metric {}: {} makes no evaluations; set eval.interval, or take --metric "
                "train/loss",
                request.metric, loaded.where("eval.interval"));
}

void check_halving(const LoadedConfig& loaded) {
  LS_USER_CHECK(loaded.config.length.max_steps > 0,
                "--halving divides training.max_steps, which {} does not limit",
                loaded.where("training.max_steps"));
  LS_USER_CHECK(loaded.config.checkpoint.save_interval >= 0,
                "{}: without checkpoints (checkpoint.save_interval: -1) no run can go on from a "
                "rung to the next",
                loaded.where("checkpoint.save_interval"));
}

/// A run that stops at a rung has the rates of the whole run.
void keep_schedule(const Config& config, std::vector<std::string>& overrides) {
  if (config.scheduler.name == SchedulerName::kConstant || config.scheduler.decay_steps > 0) return;
  overrides.push_back(fmt::format("scheduler.decay_steps={}", config.length.max_steps));
}

/// Texts of the configs without the places of their runs: equal ones are of equal points.
std::string text_without_place(Config config, const Registry& registry) {
  config.run.dir = config.run.name = "any";
  return config_yaml(config, registry);
}

}  // namespace

std::vector<Rung> halving_rungs(int points, int eta, std::int64_t steps) {
  std::vector<Rung> out;
  int left = points;
  int rungs = 0;
  for (int n = points; n > 1; n = (n + eta - 1) / eta) ++rungs;
  for (int rung = rungs; rung > 0; --rung) {
    const auto divided =
        static_cast<std::int64_t>(std::llround(static_cast<double>(steps) / std::pow(eta, rung)));
    left = (left + eta - 1) / eta;
    // With few steps several rungs would have the same: the earlier ones are left out.
    if (divided < 1 || (!out.empty() && out.back().steps == divided)) {
      if (!out.empty()) out.back().kept = left;
      continue;
    }
    out.push_back({divided, left});
  }
  out.push_back({steps, 0});
  return out;
}

SweepPlan plan_sweep(const SweepRequest& request, const Registry& registry) {
  const std::vector<SweepAxis> axes = parse_axes(request.words);
  const Schema schema(registry);
  SweepPlan out;
  out.larger_is_better = registry.larger_is_better(request.metric);
  for (const SweepAxis& axis : axes)
    if (!axis.is_fixed()) out.keys.push_back(axis.key);
  LS_USER_CHECK(!out.keys.empty(),
                "no key has several values: write, for example, "
                "optimizer.learning_rate=log:1e-4..1e-2:5");
  const std::vector<PointValues> chosen =
      request.random > 0 ? drawn(axes, schema, request) : all_combinations(axes, schema);
  const std::map<std::string, std::string> names = short_names(out.keys);
  const std::size_t digits = std::max<std::size_t>(2, std::to_string(chosen.size()).size());
  PointProblems problems;
  std::map<std::string, std::string> known;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    PlannedPoint point{.name = fmt::format("{:0>{}}", i + 1, digits)};
    for (std::size_t a = 0; a < axes.size(); ++a) {
      const std::string& value = chosen[i][a];
      point.overrides.push_back(axes[a].key + "=" + value);
      if (axes[a].is_fixed()) continue;
      point.shown.push_back(value);
      point.name += fmt::format("-{}={}", names.at(axes[a].key), file_word(value));
    }
    point.name.resize(std::min(point.name.size(), kNameLength));
    try {
      const LoadedConfig loaded = load_config(request.config, registry, point.overrides);
      const Config& config = loaded.config;
      if (i == 0) {
        check_metric(request, loaded);
        const std::string name = request.name.empty() ? config.run.name + "-sweep" : request.name;
        out.folder = (fs::path(config.run.dir) / name).string();
        out.sets_threads = loaded.origins.contains("device.threads");
      }
      if (request.halving > 0) {
        check_halving(loaded);
        keep_schedule(config, point.overrides);
      }
      const auto [place, is_new] =
          known.try_emplace(text_without_place(config, registry), point.name);
      if (!is_new)
        problems.add(fmt::format("{} and {} are the same point: a value is written in two ways",
                                 place->second, point.name));
      if (out.rungs.empty() && request.halving > 0)
        out.rungs = halving_rungs(static_cast<int>(chosen.size()), request.halving,
                                  config.length.max_steps);
      LS_USER_CHECK(request.halving == 0 || config.length.max_steps == out.rungs.back().steps,
                    "--halving: training.max_steps is not the same for all points");
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::kUsage) throw;
      problems.add(e.what());
    }
    out.points.push_back(std::move(point));
  }
  problems.raise_if_any();
  if (out.rungs.empty()) out.rungs = {{0, 0}};
  return out;
}

}  // namespace lockstep
