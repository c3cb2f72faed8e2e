#include <ostream>

#include "core/base/error.h"
#include "core/base/host_memory.h"
#include "trainer/cli/commands.h"
#include "trainer/config/load.h"
#include "trainer/devices/device_profiles.h"
#include "trainer/foresee/answer.h"
#include "trainer/foresee/given_words.h"
#include "trainer/foresee/named_choice.h"
#include "trainer/foresee/planners.h"
#include "trainer/foresee/sweep.h"
#include "trainer/foresee/what_if.h"
#include "trainer/machine/limits_file.h"

namespace lockstep {
namespace {

/// The value of an option that is one of the first `count` values of an enum, by its name.
template <class T>
std::optional<T> choice(const Arguments& arguments, const std::string& option, std::size_t count) {
  const auto given = arguments.value(option);
  if (!given) return std::nullopt;
  return named_choice<T>("--" + option, *given, count);
}

/// Bytes per second of --network-gbit.
std::optional<double> network_of(const Arguments& arguments) {
  const Key gigabits{
      .name = "network-gbit", .member = Member<double>{}, .range = above(0), .doc = ""};
  constexpr double kBytesOfGigabit = 1e9 / 8;
  const auto given = arguments.number("network-gbit", gigabits);
  return given ? std::optional(*given * kBytesOfGigabit) : std::nullopt;
}

ForeseeOptions options_of(const Arguments& arguments) {
  constexpr int kMost = 1 << 20;
  ForeseeOptions out;
  out.per_node = static_cast<int>(arguments.integer("devices-per-node", 1, kMost).value_or(1));
  out.nodes = static_cast<int>(arguments.integer("nodes", 1, kMost).value_or(1));
  out.math = choice<MathType>(arguments, "math", kMathTypes);
  Deployment& to = out.deployment;
  to.execution = choice<Execution>(arguments, "execution", kExecutions).value_or(to.execution);
  out.alternatives = arguments.has("alternatives");
  to.node_network = network_of(arguments);
  to.parallelism =
      choice<Parallelism>(arguments, "parallelism", kParallelisms).value_or(to.parallelism);
  return out;
}

RehearsalOptions rehearsal_of(const Arguments& arguments) {
  const auto number = [&](const char* name, const Range& range) {
    return arguments.number(
        name, Key{.name = name, .member = Member<double>{}, .range = range, .doc = ""});
  };
  RehearsalOptions out;
  out.disturbances = arguments.values("simulate");
  out.hours_between_failures = number("mtbf-hours", above(0));
  const auto save = number("save-seconds", above(0));
  const auto restart = number("restart-seconds", at_least(0));
  LS_USER_CHECK(out.hours_between_failures.has_value() == save.has_value() && (save || !restart),
                "--mtbf-hours and --save-seconds belong together, --restart-seconds to them");
  out.save_seconds = save.value_or(0);
  out.restart_seconds = restart.value_or(0);
  return out;
}

int run_what_if(const CommandCall& call) {
  const Arguments& arguments = call.arguments;
  const std::vector<std::string>& words = arguments.positionals();
  LS_USER_CHECK(words.size() == 1 && !arguments.has("device"),
                "--what-if asks of a run on this machine: lockstep foresee RUN --what-if WORDS");
  const FoundLimits found = find_limits(call.settings, host_target(call.settings.max_isa));
  const std::vector<WhatIf> answers =
      answer_what_if(words[0], arguments.values("what-if"), network_of(arguments), found.limits,
                     call.settings.max_isa, call.registry);
  call.out << (arguments.has("json") ? what_if_json(words[0], answers) : what_if_text(answers));
  return 0;
}

int run_foresee(const CommandCall& call) {
  keep_freed_memory();
  const Arguments& arguments = call.arguments;
  if (arguments.has("what-if")) return run_what_if(call);
  const std::span<const std::string> words = arguments.positionals();
  const std::vector<std::string> names = arguments.values("device");
  LS_USER_CHECK(!names.empty(), "--device is missing; `lockstep devices` lists them");
  ForeseeOptions options = options_of(arguments);
  options.max_isa = call.settings.max_isa;
  std::vector<DeviceProfile> devices;
  devices.reserve(names.size());
  for (const std::string& name : names) devices.push_back(find_device(name, call.settings));
  const std::vector<std::string> overrides(words.begin() + 1, words.end());
  options.given =
      read_given(arguments.values("given"), words[0], overrides, devices, options, call.registry);
  const auto prices_file = arguments.value("price");
  const Prices prices = prices_file ? read_prices(*prices_file) : Prices{};
  const RehearsalOptions rehearsal = rehearsal_of(arguments);
  if (arguments.has("sweep") || prices_file) {
    LS_USER_CHECK(rehearsal.disturbances.empty() && !rehearsal.hours_between_failures,
                  "--simulate and --mtbf-hours are of one config: leave out --sweep and --price");
    const std::vector<SweepPoint> points = run_sweep(words[0], overrides, arguments.values("sweep"),
                                                     devices, options, prices, call.registry);
    call.out << (arguments.has("json") ? sweep_json(points) : sweep_text(points));
    return 0;
  }
  const LoadedConfig config = load_config(words[0], call.registry, overrides);
  Planners planners(config.config, call.registry, options.max_isa);
  std::vector<DeviceAnswer> answers;
  answers.reserve(devices.size());
  for (const DeviceProfile& device : devices)
    answers.push_back(
        answer_for(config, device, options, rehearsal, planners.of(device), call.registry));
  if (arguments.has("json")) {
    call.out << foresight_json(answers);
    return 0;
  }
  for (std::size_t i = 0; i < devices.size(); ++i)
    call.out << (i == 0 ? "" : "\n") << foresight_text(answers[i]);
  return 0;
}

}  // namespace

CliCommand foresee_command() {
  return {
      .name = "foresee",
      .positionals = {"CONFIG"},
      .rest = "[key.path=value ...]",
      .max_rest = CliCommand::kAnyNumber,
      .help = "predict how long a training step takes on devices that are not here",
      .details =
          "Nothing is trained, and no tensor gets memory. docs/guides/foresight.md says more\n"
          "and what its predictions are worth. A part of the time follows from the data sheet\n"
          "alone, the rest from constants that were fitted to published times, or from figures\n"
          "that the profile marks as estimates (assumed).\n"
          "A --given step needs step_ms, in milliseconds. It is the one that is asked for, but "
          "for\n"
          "what else it names: device, devices (in all), nodes, math, execution, parallelism,\n"
          "micro_batch_size, global_batch_size, any key.path of the config, or another config.\n"
          "A .csv file has these keys in its first line.\n",
      .options =
          {{.name = "device",
            .value = "NAME",
            .help = "one or several of `lockstep devices`, this-machine (as `lockstep calibrate` "
                    "measured it), or files of your own, .yaml",
            .many = true},
           {.name = "devices-per-node", .value = "N", .help = "devices of a node: 1"},
           {.name = "nodes", .value = "N", .help = "nodes: 1"},
           {.name = "network-gbit",
            .value = "N",
            .help = "Gbit/s of a node to others, each direction, in place of the profile's; with "
                    "--what-if, what the links of the run carried"},
           {.name = "math",
            .value = "TYPE",
            .help = "of products: fp32, tf32, bf16, fp16 or fp8, in place of that of "
                    "training.precision"},
           {.name = "execution",
            .value = "HOW",
            .help = "eager, compiled (the default), hand_fused, xla or static_graph"},
           {.name = "parallelism", .value = "HOW", .help = "dp (the default), zero1, fsdp or hsdp"},
           {.name = "alternatives",
            .value = "",
            .help = "memory and time with bf16-mixed, gradient checkpointing, divided "
                    "state, also if the config fits without them"},
           {.name = "given",
            .value = "STEP",
            .help = "a measured step that corrects the prediction: step_ms=182,devices=8, "
                    "or a file of such, .csv",
            .many = true},
           {.name = "simulate",
            .value = "WORDS",
            .help = "all devices step by step, with what makes them unequal: 'rank=3 slow=1.4 "
                    "steps=10:20', 'jitter=0.03' (as device.simulate)",
            .many = true},
           {.name = "mtbf-hours",
            .value = "H",
            .help = "mean time between failures of one device: how often to save, and what "
                    "failures cost"},
           {.name = "save-seconds",
            .value = "S",
            .help = "that a save takes from training; with --mtbf-hours"},
           {.name = "restart-seconds",
            .value = "S",
            .help = "from a failure to training on; with --mtbf-hours"},
           {.name = "what-if",
            .value = "WORDS",
            .help = "of a RUN in place of CONFIG, with profile.ledger=true: its step if one cost "
                    "or setting were another: dots=2x, all_reduce=0, bandwidth=2x, batch=2x, "
                    "overlap=off, optimizer=unfused, key.path=value",
            .many = true},
           {.name = "sweep",
            .value = "KEY=A,B,C",
            .help = "a line for each combination of these values, the quickest and the "
                    "cheapest",
            .many = true},
           {.name = "price",
            .value = "FILE",
            .help = "a YAML file of lines 'device: per_hour': the run's cost"},
           {.name = "json", .value = "", .help = "as JSON"}},
      .exits = {3, 4},
      .run = run_foresee};
}

}  // namespace lockstep
