#include <cmath>
#include <limits>
#include <ostream>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "trainer/apps/train.h"
#include "trainer/cli/commands.h"
#include "trainer/devices/device_times.h"
#include "trainer/runs/draw_curves.h"
#include "trainer/runs/text_table.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMostTestSteps = 1'000'000;

RateRange range_of(const Arguments& arguments) {
  const Key positive{
      .name = "rate", .member = Member<double>{}, .range = above(0), .doc = "A learning rate."};
  RateRange out;
  out.low = arguments.number("min", positive).value_or(out.low);
  out.high = arguments.number("max", positive).value_or(out.high);
  LS_USER_CHECK(out.low < out.high, "--min {} is not below --max {}", out.low, out.high);
  constexpr std::int64_t kFewestSteps = 20;
  out.steps = arguments.integer("steps", kFewestSteps, kMostTestSteps).value_or(out.steps);
  return out;
}

std::string csv_of(const RateTest& test) {
  const std::vector<double> smoothed = test.smoothed();
  TextTable table{.columns = {{"step"}, {"learning_rate"}, {"loss"}, {"smoothed_loss"}}};
  for (std::size_t i = 0; i < test.points().size(); ++i)
    table.rows.push_back({std::to_string(i + 1), fmt::format("{}", test.points()[i].rate),
                          fmt::format("{}", test.points()[i].loss),
                          i < smoothed.size() ? fmt::format("{}", smoothed[i]) : ""});
  return table.csv();
}

/// Without the rise at the end, beside which everything else would be flat.
DrawnCurve drawn(const RateTest& test) {
  const std::vector<double> smoothed = test.smoothed();
  DrawnCurve out{.name = "loss"};
  const double most = smoothed.empty() ? 0 : 1.2 * smoothed.front();
  for (std::size_t i = 0; i < smoothed.size(); ++i) {
    out.x.push_back(test.points()[i].rate);
    out.y.push_back(smoothed[i] <= most || smoothed.front() <= 0 ? smoothed[i] : NAN);
  }
  return out;
}

std::string text_of_test(const RateTest& test) {
  std::string out = "train/loss, smoothed\n";
  out += draw_curves({drawn(test)},
                     {.width = terminal_width(), .log_x = true, .x_name = "learning rate"});
  const std::size_t steps = test.points().size();
  out += test.has_diverged() ? fmt::format("\nthe loss diverged at step {}, rate {:.3g}\n", steps,
                                           test.points().back().rate)
                             : fmt::format("\nthe loss did not diverge in {} steps\n", steps);
  const std::optional<double> steepest = test.steepest(), lowest = test.lowest();
  if (!steepest)
    return out + "no suggestion: the loss never fell; try a lower --min or more --steps\n";
  out += fmt::format(
      "suggestion: optimizer.learning_rate={:.2g}, where the smoothed loss falls fastest with the\n"
      "logarithm of the rate (the range test of Smith 2017, fastai's rule)\n",
      *steepest);
  if (lowest)
    out += fmt::format("the smoothed loss is lowest at {:.2g}; a tenth of that is {:.2g}\n",
                       *lowest, *lowest / 10);
  return out;
}

int run_lr_find(const CommandCall& call) {
  const Arguments& arguments = call.arguments;
  const std::span<const std::string> words = arguments.positionals();
  call.watch.activity().begin(Phase::kConfig);
  const RateRange range = range_of(arguments);
  const auto output = arguments.value("output");
  LS_USER_CHECK(!output || !output->empty(), "--output is empty: name the file to write");
  const bool is_master = call.settings.world_rank == 0;
  if (output && is_master) check_can_write(*output, ErrorKind::kUsage);
  LoadedConfig config = load_config(words[0], call.registry, words.subspan(1));
  take_memory_of_profile(config);
  const std::optional<RateTest> test =
      test_rates(config, call.registry, range, call.settings, call.watch);
  if (!test) return static_cast<int>(ErrorKind::kPreempted);
  if (!is_master) return 0;
  if (output) write_file(*output, csv_of(*test), ErrorKind::kUsage);
  call.out << text_of_test(*test);
  return 0;
}

}  // namespace

CliCommand lr_find_command() {
  return {
      .name = "lr-find",
      .positionals = {"CONFIG"},
      .rest = "[key.path=value ...]",
      .max_rest = CliCommand::kAnyNumber,
      .help = "find a learning rate: a range test with growing rates, its curve, a suggestion",
      .details =
          "Trains CONFIG for a few steps from its initial values, with a rate that grows by the\n"
          "same factor in each, until the loss diverges (four times its lowest). The config's\n"
          "scheduler has no effect. Leaves no run behind and changes none. On several ranks:\n"
          "lockstep launch -n N -- lr-find CONFIG.\n",
      .options = {{.name = "min", .value = "RATE", .help = "the first rate (1e-7)"},
                  {.name = "max", .value = "RATE", .help = "the last rate (1)"},
                  {.name = "steps", .value = "N", .help = "steps in all (100)"},
                  {.name = "output", .value = "FILE", .help = "writes rates and losses as CSV"}},
      .exits = {3, 4, 5, 7},
      .run = run_lr_find};
}

}  // namespace lockstep
