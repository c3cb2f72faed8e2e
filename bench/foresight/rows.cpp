// foresight_rows ROWS.jsonl: predicts many rows again and again, for bench/foresight.py and the fit
// of the constants. A row is an object:
//
//   {"words": ["config.yaml", "model.n_layer=2", ...], "device": "a100-sxm4-80gb", "devices": 8,
//    "nodes": 1, "math": "bf16", "execution": "eager", "parallelism": "dp",
//    "recomputation": "none", "fused_attention": true, "channels_first": false,
//    "gradient_bytes": 4, "micro_batches": 1, "node_network": 2.5e10}
//
// of which the last one may be left out. With "blend": [[words], share] so much of the time is that
// of these words. The first line of the output is {"constants": [[name, prior, spread], ...],
// "errors": [text or null for each row]}. Then each line of the standard input is an array of
// constants, and is answered by an array of the rows' milliseconds; an empty array stands for the
// fitted ones, and is answered by {"ms": [...], "factors": [...]}, where the 80 % interval is [ms /
// factor, ms * factor]. Rows with an error have null.
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
  work.parameters = by.at("parameters");
}

Row read_row(const json& row, Steps& steps) {
  Row out;
  out.work = steps.of(row.at("words").get<std::vector<std::string>>());
  out.work.micro_batches = row.at("micro_batches");
  if (row.contains("scale")) scale(out.work, row.at("scale"));
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

double milliseconds(const Row& row, const CostConstants& constants) {
  const auto of = [&](const StepWork& work) {
    return 1e3 * step_time(work, row.device, row.deployment, constants).seconds;
  };
  return row.blended ? (1 - row.share) * of(row.work) + row.share * of(*row.blended) : of(row.work);
}

json answer(const std::vector<std::optional<Row>>& rows, const std::vector<double>& values) {
  // The fitted ones are read only if they are asked for: after a change of the model they are those
  // of another, until the fit has written them anew.
  const CostConstants constants =
      values.empty() ? fitted_constants().constants : constants_from(values);
  json ms = json::array(), factors = json::array();
  for (const std::optional<Row>& row : rows) {
    ms.push_back(nullptr);
    factors.push_back(nullptr);
    if (!row) continue;
    ms.back() = milliseconds(*row, constants);
    if (values.empty())
      factors.back() = interval_factor(row->work, row->device, row->deployment, fitted_constants());
  }
  return values.empty() ? json{{"ms", ms}, {"factors", factors}} : ms;
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
  for (const CostConstantRow& row : cost_constant_rows())
    constants.push_back({row.name, row.prior, row.spread});
  std::cout << json{{"constants", constants}, {"errors", errors}}.dump() << "\n" << std::flush;
  for (std::string line; std::getline(std::cin, line);)
    std::cout << answer(rows, json::parse(line).get<std::vector<double>>()).dump() << "\n"
              << std::flush;
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
