// new_length CONFIG LENGTH... [key.path=value ...]: the cost of compiling the training step of a
// config for each of the sequence lengths, one after the other in one process, without a cache on
// disk; as a table. Columns: processor seconds of this process, which other processes do not change
// much; functions that LLVM compiled, and kernels that were prepared.
//
//   bench/new_length configs/bench/gpt2_124m_t64.yaml 64 96 128 48
#include <fmt/format.h>

#include <ctime>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "bench/target.h"
#include "core/engine/compile.h"
#include "core/engine/update_plans.h"
#include "core/kernels/kernel_cache.h"
#include "core/runtime/loaded_step.h"
#include "trainer/apps/run_planner.h"
#include "trainer/config/load.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::vector<std::string> split_lengths(std::vector<std::string>& words) {
  std::vector<std::string> lengths;
  std::erase_if(words, [&](const std::string& word) {
    const bool is_length = word.find_first_not_of("0123456789") == std::string::npos;
    if (is_length) lengths.push_back(word);
    return is_length;
  });
  return lengths;
}

void run(const std::string& path, std::vector<std::string> words) {
  const Registry registry = built_in();
  const std::vector<std::string> lengths = split_lengths(words);
  CompileOptions options;
  options.target = bench_target();
  KernelCache kernels(options.target);
  UpdatePlans updates;
  fmt::print("{:>7} {:>10} {:>10} {:>10} {:>8} {:>9} {:>8}\n", "length", "plan s", "kernels s",
             "total s", "of first", "functions", "kernels");
  std::vector<std::shared_ptr<LoadedStep>> programs;  // as a run keeps them
  double first = 0;
  for (const std::string& length : lengths) {
    std::vector<std::string> overrides = words;
    overrides.push_back("data.sequence_length=" + length);
    const Config config = load_config(path, registry, overrides).config;
    Graph step = plan_config(config, registry, settings_from_environment().max_isa).step->step;
    const std::int64_t functions = kernels.compiled();
    const std::int64_t built = kernels.built();
    const double begin = processor_seconds();
    auto compiled = compile_step(std::move(step), options, kernels, updates, Log::null());
    const double planned = processor_seconds();
    programs.push_back(load_step(std::move(compiled), options, kernels));
    const double end = processor_seconds();
    if (first == 0) first = end - begin;
    fmt::print("{:>7} {:>10.3f} {:>10.3f} {:>10.3f} {:>8.3f} {:>9} {:>8}\n", length,
               planned - begin, end - planned, end - begin, (end - begin) / first,
               kernels.compiled() - functions, kernels.built() - built);
  }
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: new_length CONFIG LENGTH... [key.path=value ...]\n");
    return 2;
  }
  try {
    lockstep::run(argv[1], std::vector<std::string>(argv + 2, argv + argc));
  } catch (const std::exception& error) {
    fmt::print(stderr, "new_length: {}\n", error.what());
    return 1;
  }
  return 0;
}
