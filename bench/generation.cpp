// generation CONFIG [key.path=value ...]: the time that a model of the config needs for a token
// near the beginning of its context and at the end of it, with one thread and random weights. The
// lower bound is the time to read its weights: their bytes over the triad. samples=N generates N
// samples at once.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <vector>

#include "bench/target.h"
#include "collectives/single.h"
#include "trainer/apps/from_config.h"
#include "trainer/calibrate/bandwidth.h"
#include "trainer/config/load.h"
#include "trainer/generation/continuation.h"
#include "trainer/job/rank_runtime.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

constexpr std::int64_t kEarly = 10;
constexpr int kTokens = 60;

/// Samples that continue from some position, and the seconds of each further token.
struct Place {
  std::int64_t position;
  Continuation samples;
  std::vector<double> seconds;

  void make_token() {
    samples.append(std::vector<std::int32_t>(static_cast<std::size_t>(samples.samples()), 7));
    const auto begin = std::chrono::steady_clock::now();
    (void)samples.next_logits();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
};

void run(const std::string& path, std::vector<std::string> overrides) {
  const Registry registry = built_in();
  std::int64_t count = 1;
  std::erase_if(overrides, [&](const std::string& word) {
    const bool is_count = word.starts_with("samples=");
    if (is_count) count = std::stoll(word.substr(8));
    return is_count;
  });
  overrides.emplace_back("device.threads=1");
  const Config config = load_config(path, registry, overrides).config;
  Watch watch;
  RankRuntime runtime(config, settings_from_environment(), make_single_communicator(), watch);
  const std::unique_ptr<Model> model = registry.make_model(config.model, {});
  TrainingState state = make_training_state(config, registry, *model);
  draw_values(*model, runtime.engine(), 1);
  make_copies(state, runtime.engine());
  const std::int64_t length = registry.needs(config.model).sequence_length;
  const auto bytes = static_cast<double>(size_of(state.compute_dtype)) *
                     static_cast<double>(model->parameters().elements());
  const double triad =
      measure_bandwidth(bench_target(), 1, set_beyond_caches(1), 0.5).triad_bytes_per_s;
  const double least = bytes / triad;
  fmt::print("weights {:.1f} MB, triad {:.2f} GB/s: {:.2f} ms\n", bytes * 1e-6, triad * 1e-9,
             least * 1e3);
  std::vector<Place> places;
  for (const std::int64_t position : {kEarly, length - kTokens - 1}) {
    const std::vector<std::int32_t> prompt(static_cast<std::size_t>(position), 7);
    places.push_back(
        {position,
         Continuation(runtime.engine(), *model, state.compute_dtype, length, prompt, count),
         {}});
    places.back().samples.next_logits();  // for the prompt
    places.back().make_token();           // compiles
    places.back().seconds.clear();
  }
  // In turns, because other load on the machine varies.
  for (int i = 1; i < kTokens; ++i)
    for (Place& place : places) place.make_token();
  for (auto& [position, samples, seconds] : places) {
    std::ranges::sort(seconds);
    fmt::print(
        "{} samples, position {:>5}: {:.2f} ms median, {:.2f} minimum; {:.2f} of the lower "
        "bound, {:.2f} at best\n",
        count, position, seconds[seconds.size() / 2] * 1e3, seconds[0] * 1e3,
        seconds[seconds.size() / 2] / least, seconds[0] / least);
  }
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: generation CONFIG [samples=N] [key.path=value ...]\n");
    return 2;
  }
  try {
    lockstep::run(argv[1], std::vector<std::string>(argv + 2, argv + argc));
  } catch (const std::exception& error) {
    fmt::print(stderr, "generation: {}\n", error.what());
    return 1;
  }
  return 0;
}
