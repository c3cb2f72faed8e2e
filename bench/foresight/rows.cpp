// foresight_rows ROWS.jsonl: predicts many rows again and again, for bench/foresight.py and the fit
// of the constants. A row is an object:
//
//   {"words": ["config.yaml", "model.n_layer=2", ...], "device": "a100-sxm4-80gb", "devices": 8,
//    "nodes": 1, "math": "bf16", "execution": "eager", "parallelism": "dp",
//    "recomputation": "none", "fused_attention": true, "channels_first": false,
//    "gradient_bytes": 4, "micro_batches": 1, "node_network": 2.5e10}
//
// of which the last one may be left out. With "blend": [[words], share] so much of the time is that
// of these words. The first line of the output is {"constants": [[name, prior, spread, fitted],
// ...], "errors": [text or null for each row], "traits": [what a row's residual depends on]}. Then
// each line of the standard input is answered by a line:
//
//   [constant, ...]                             [ms of each row]
//   {"given": [[[row, ms], ...] for each row]}  {"ms": [...], "factors": [...]}
//
// The second one is by the fitted constants, corrected by the times that are given of other rows;
// the 80 % interval is [ms / factor, ms * factor]. Rows with an error have null.
#include <fmt/format.h>

#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/error.h"
#include "trainer/devices/device_profiles.h"
#include "trainer/foresee/foresee.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

using nlohmann::json;

struct Row {
  StepWork work;
  std::optional<StepWork> blended;  ///< of which `share` counts, and of `work` the rest
  double share = 0;
  bool stand_in = false;  ///< `work` is scaled
  DeviceProfile device;
  Deployment deployment;
};

template <class T, class Parse>
T named(const json& row, const char* key, const Parse& parse) {
  const auto value = parse(row.at(key).get<std::string>());
  LS_USER_CHECK(value.has_value(), "{} '{}' is not known", key, row.at(key).get<std::string>());
  return *value;
}

std::optional<Rematerialization> parse_rematerialization(const std::string& name) {
  if (name == "none") return Rematerialization::kNone;
  if (name == "selective") return Rematerialization::kSelective;
  if (name == "full") return Rematerialization::kFull;
  return std::nullopt;
}

class Steps {
 public:
  const StepWork& of(const std::vector<std::string>& words) {
    const auto found = steps_.find(words);
    if (found != steps_.end()) return found->second;
    const std::vector<std::string> overrides(words.begin() + 1, words.end());
    const Config config = load_config(words.at(0), registry_, overrides).config;
    return steps_.emplace(words, foresee_step(config, registry_).work).first->second;
  }

 private:
  Registry registry_ = built_in();
  std::map<std::vector<std::string>, StepWork> steps_;
};

void scale(StepWork& work, const json& by) {
  const double flops = by.at("flops"), bytes = by.at("bytes");
  for (KernelWork& kernel : work.heavy) {
    kernel.flops *= flops;
    kernel.bytes *= bytes;
  }
  work.fused.bytes *= bytes;
  work.calls.bytes *= bytes;
  const double parameters = by.at("parameters");
  for (BucketWork& bucket : work.buckets) bucket.bytes *= parameters / work.parameters;
  work.parameters = parameters;
}

Row read_row(const json& row, Steps& steps) {
  Row out;
  out.work = steps.of(row.at("words").get<std::vector<std::string>>());
  out.work.micro_batches = row.at("micro_batches");
  out.stand_in = row.contains("scale");
  if (out.stand_in) scale(out.work, row.at("scale"));
  if (row.contains("blend")) {
    out.blended = steps.of(row.at("blend").at(0).get<std::vector<std::string>>());
    out.blended->micro_batches = out.work.micro_batches;
    out.share = row.at("blend").at(1);
  }
  out.device = find_device(row.at("device").get<std::string>());
  Deployment& to = out.deployment;
  to.devices = row.at("devices");
  to.nodes = row.at("nodes");
  to.math = named<MathType>(row, "math", parse_math_type);
  to.execution = named<Execution>(row, "execution", parse_execution);
  to.parallelism = named<Parallelism>(row, "parallelism", parse_parallelism);
  to.rematerialization = named<Rematerialization>(row, "recomputation", parse_rematerialization);
  to.fused_attention = row.at("fused_attention");
  to.channels_first = row.at("channels_first");
  to.gradient_bytes = row.at("gradient_bytes");
  if (row.contains("node_network")) to.node_network = row.at("node_network").get<double>();
  step_time(out.work, out.device, to, CostConstants{});  // throws what is wrong with it
  return out;
}

double seconds(const Row& row, const CostConstants& constants) {
  const auto of = [&](const StepWork& work) {
    return step_time(work, row.device, row.deployment, constants).seconds;
  };
  return row.blended ? (1 - row.share) * of(row.work) + row.share * of(*row.blended) : of(row.work);
}

StepTraits traits(const Row& row) {
  const bool mostly_blended = row.blended && row.share > 0.5;
  StepTraits out = traits_of(mostly_blended ? *row.blended : row.work, row.device, row.deployment);
  out.stand_in = row.stand_in;
  return out;
}

json to_json(const StepTraits& traits) {
  return {{"parameters", traits.parameters},
          {"flops", traits.flops},
          {"devices", traits.devices},
          {"math", name_of(traits.math)},
          {"execution", name_of(traits.execution)},
          {"ordinary_units", traits.ordinary_units},
          {"other_kind", traits.other_kind},
          {"stand_in", traits.stand_in}};
}

/// f(row) of each row, null for those that have an error.
template <class F>
json of_each(const std::vector<std::optional<Row>>& rows, const F& f) {
  json out = json::array();
  for (const std::optional<Row>& row : rows) out.push_back(row ? json(f(*row)) : json(nullptr));
  return out;
}

json corrected(const std::vector<std::optional<Row>>& rows, const json& given) {
  const FittedConstants& fitted = fitted_constants();
  std::vector<ForeseenTime> foreseen(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (const std::optional<Row>& row = rows[i])
      foreseen[i] =
          foreseen_time([&](const CostConstants& constants) { return seconds(*row, constants); },
                        traits(*row), fitted);
  json ms = json::array(), factors = json::array();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<GivenStep> steps;
    for (const json& each : given.at(i))
      steps.push_back(
          {foreseen.at(each.at(0).get<std::size_t>()), 1e-3 * each.at(1).get<double>()});
    ms.push_back(nullptr);
    factors.push_back(nullptr);
    if (!rows[i]) continue;
    const Correction correction = correct(foreseen[i], steps, fitted);
    ms.back() = 1e3 * foreseen[i].seconds * correction.factor;
    factors.back() = correction.interval;
  }
  return {{"ms", ms}, {"factors", factors}};
}

json answer(const std::vector<std::optional<Row>>& rows, const json& question) {
  if (question.is_object()) return corrected(rows, question.at("given"));
  const CostConstants constants = constants_from(question.get<std::vector<double>>());
  return of_each(rows, [&](const Row& row) { return 1e3 * seconds(row, constants); });
}

void run(const std::string& path) {
  std::ifstream file(path);
  LS_USER_CHECK(file.good(), "cannot read {}", path);
  Steps steps;
  std::vector<std::optional<Row>> rows;
  json errors = json::array();
  for (std::string line; std::getline(file, line);) {
    rows.emplace_back();
    errors.push_back(nullptr);
    try {
      rows.back() = read_row(json::parse(line), steps);
    } catch (const std::exception& error) {
      errors.back() = error.what();
    }
  }
  json constants = json::array();
  std::vector<double> fitted = values_of(fitted_constants().constants);
  const std::vector<CostConstantRow> rows_of_constants = cost_constant_rows();
  fitted.resize(rows_of_constants.size(), 1);  // before the first fit of another set of constants
  for (std::size_t i = 0; i < fitted.size(); ++i) {
    const CostConstantRow& row = rows_of_constants[i];
    constants.push_back({row.name, row.prior, row.spread, fitted[i]});
  }
  std::cout << json{{"constants", constants},
                    {"errors", errors},
                    {"traits", of_each(rows, [](const Row& row) { return to_json(traits(row)); })}}
                   .dump()
            << "\n"
            << std::flush;
  for (std::string line; std::getline(std::cin, line);)
    std::cout << answer(rows, json::parse(line)).dump() << "\n" << std::flush;
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: foresight_rows ROWS.jsonl\n");
    return 2;
  }
  try {
    lockstep::run(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "foresight_rows: error: {}\n", error.what());
    return 2;
  }
}
