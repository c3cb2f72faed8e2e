// generation CONFIG [key.path=value ...]: the time that a model of the config needs for a token
// near the beginning of its context and at the end of it, with one thread and random weights. The
// lower bound is the time to read its weights: their bytes over the triad. samples=N generates N
// samples at once. beams=N also measures beam search: N rows for each sample, of which one falls
// out and another is continued twice in every step, so that the cache is always reordered. A
// captioner's samples have a black image each; the time of its encoder, spent once, is left out.
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
#include "trainer/generation/search_beams.h"
#include "trainer/job/rank_runtime.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

constexpr std::int64_t kEarly = 10;
constexpr int kTokens = 60;

/// Samples that continue from some position, each by some beams, and the seconds of each further
/// token.
struct Place {
  std::int64_t position;
  std::int64_t beams;
  Continuation rows;
  std::vector<double> seconds = {};

  void make_token() {
    rows.append(std::vector<std::int32_t>(static_cast<std::size_t>(rows.samples()), 7));
    const auto begin = std::chrono::steady_clock::now();
    if (beams > 1) {
      // The best beam is continued twice, and the last one falls out.
      const auto count = static_cast<std::int32_t>(rows.samples());
      std::vector<std::int32_t> places(static_cast<std::size_t>(count));
      for (std::int32_t row = 0; row < count; ++row)
        places[static_cast<std::size_t>(row)] =
            row % static_cast<std::int32_t>(beams) == 0 ? row : row - 1;
      rows.reorder(places);
    }
    (void)rows.next_logits();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
};

/// The number in the word "name=N", which is taken out; 1 if there is none.
std::int64_t taken_number(std::vector<std::string>& words, const std::string& name) {
  std::int64_t out = 1;
  std::erase_if(words, [&](const std::string& word) {
    const bool is_it = word.starts_with(name + "=");
    if (is_it) out = std::stoll(word.substr(name.size() + 1));
    return is_it;
  });
  return out;
}

/// Of the weights that each token needs: a captioner's encoder is done before the first.
std::int64_t elements_read(const ParameterSet& parameters) {
  std::int64_t out = 0;
  for (const Parameter& parameter : parameters.all())
    if (!parameter.name.starts_with("encoder.")) out += parameter.shape.elements();
  return out;
}

void run(const std::string& path, std::vector<std::string> overrides) {
  const Registry registry = built_in();
  const std::int64_t count = taken_number(overrides, "samples");
  const std::int64_t most_beams = taken_number(overrides, "beams");
  overrides.emplace_back("device.threads=1");
  const Config config = load_config(path, registry, overrides).config;
  Watch watch;
  RankRuntime runtime(config, settings_from_environment(), make_single_communicator(), watch);
  const std::unique_ptr<Model> model = registry.make_model(config.model, {});
  TrainingState state = make_training_state(config, registry, *model);
  draw_values(*model, runtime.engine(), 1);
  make_copies(state, runtime.engine());
  const DataNeeds needs = registry.needs(config.model);
  const std::int64_t context = needs.sequence_length;
  const auto bytes = static_cast<double>(size_of(state.compute_dtype)) *
                     static_cast<double>(elements_read(model->parameters()));
  const double triad =
      measure_bandwidth(bench_target(), 1, set_beyond_caches(1), 0.5).triad_bytes_per_s;
  const double least = bytes / triad;
  fmt::print("weights {:.1f} MB, triad {:.2f} GB/s: {:.2f} ms\n", bytes * 1e-6, triad * 1e-9,
             least * 1e3);
  std::vector<Place> places;
  const auto add_place = [&](std::int64_t position, std::int64_t beams) {
    const std::vector<std::int32_t> prompt(static_cast<std::size_t>(position), 7);
    const std::int64_t length = beams > 1 ? search_length(context, position, kTokens) : context;
    places.push_back({position, beams,
                      Continuation(runtime.engine(), *model, state.compute_dtype, length, prompt,
                                   count * beams)});
    Continuation& rows = places.back().rows;
    if (needs.inputs == "captioned_images") {
      const auto [channels, height, width] = needs.image;
      const Shape shape{count, channels, height, width};
      const std::vector<float> black(static_cast<std::size_t>(shape.elements()));
      rows.remember({{"image", HostTensor::of(shape, black)}});
    }
    rows.next_logits();          // for the prompt
    places.back().make_token();  // compiles
    places.back().seconds.clear();
  };
  places.reserve(4);
  for (const std::int64_t position : {kEarly, context - kTokens - 1}) {
    add_place(position, 1);
    if (most_beams > 1) add_place(position, most_beams);
  }
  // In turns, because other load on the machine varies.
  for (int i = 1; i < kTokens; ++i)
    for (Place& place : places) place.make_token();
  for (auto& [position, beams, rows, seconds] : places) {
    std::ranges::sort(seconds);
    fmt::print(
        "{} samples, {} beams, position {:>5}: {:.2f} ms median, {:.2f} minimum; {:.2f} of the "
        "lower bound, {:.2f} at best\n",
        count, beams, position, seconds[seconds.size() / 2] * 1e3, seconds[0] * 1e3,
        seconds[seconds.size() / 2] / least, seconds[0] / least);
  }
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: generation CONFIG [samples=N] [beams=N] [key.path=value ...]\n");
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
