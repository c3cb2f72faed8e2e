// work: the kernels of training steps, for the fit of the cost model's constants. Reads lines of
// tab-separated words "CONFIG [key.path=value ...]" from the standard input and prints a line of
// JSON for each: {"parameters", "state_bytes", "reduced_bytes", "fused", "unfused", "update"}.
#include <fmt/format.h>

#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/cost/kernel_work.h"
#include "core/runtime/compiled_step.h"
#include "trainer/apps/dry_run.h"
#include "trainer/config/load.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

nlohmann::json to_json(const std::vector<KernelWork>& work) {
  nlohmann::json out = nlohmann::json::array();
  for (const KernelWork& each : work)
    out.push_back({name_of(each.kind), name_of(each.dtype), each.gradient, each.batch, each.m,
                   each.n, each.k, each.window, each.stride, each.flops, each.bytes, each.count});
  return out;
}

nlohmann::json work_of(const std::string& line, const Registry& registry) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; std::getline(stream, word, '\t');) words.push_back(word);
  const std::string path = words.at(0);
  words.erase(words.begin());
  const Config config = load_config(path, registry, words).config;
  const CompiledConfig compiled = compile_config(config, registry);
  const CompiledStep& step = *compiled.step;
  return {{"parameters", compiled.parameters},
          {"slots", compiled.slots},
          {"reduced_bytes", step.reduction.bytes},
          {"arena", step.gradient.arena_bytes},
          {"fused", to_json(fused_work(step.gradient.graph))},
          {"unfused", to_json(unfused_work(step.step))},
          {"update", to_json(fused_work(step.update.graph))}};
}

}  // namespace
}  // namespace lockstep

int main() {
  const lockstep::Registry registry = lockstep::built_in();
  for (std::string line; std::getline(std::cin, line);) {
    nlohmann::json out;
    try {
      out = lockstep::work_of(line, registry);
    } catch (const std::exception& error) {
      out = {{"error", error.what()}};
    }
    std::cout << out.dump() << std::endl;
  }
}
