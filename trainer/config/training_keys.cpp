#include "trainer/config/training_keys.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <variant>

namespace lockstep {
namespace {

template <auto Section>
void* section_of(Config& config) {
  return &(config.*Section);
}

std::vector<KeyGroup> steps_and_batches() {
  return {
      {"training",
       section_of<&Config::length>,
       {{.name = "max_steps",
         .member = bind<&LengthConfig::max_steps>(),
         .range = count_at_least(-1),
         .unit = "steps",
         .doc = "Optimizer steps; -1 for no limit; 0 initializes, saves step 0 and exits. "
                "Whichever of max_steps and max_epochs comes first ends the run."},
        {.name = "max_epochs",
         .member = bind<&LengthConfig::max_epochs>(),
         .range = count_at_least(-1),
         .unit = "epochs",
         .doc = "Passes over the training data; -1 for no limit."}}},
      {"training",
       section_of<&Config::batch>,
       {{.name = "global_batch_size",
         .member = bind<&BatchConfig::global_batch_size>(),
         .range = size_at_least(1),
         .unit = "samples",
         .doc = "Samples per optimizer step, over all ranks.",
         .required = true},
        {.name = "micro_batch_size",
         .member = bind<&BatchConfig::micro_batch_size>(),
         .range = size_at_least(1),
         .unit = "samples",
         .doc =
             "Samples in one micro-batch, the unit of work; global_batch_size is a multiple of it. "
             "auto takes the largest that fits device.memory_gb and divides the batch.",
         .required = true,
         .empty_word = "auto"}}},
      {"training",
       section_of<&Config::training>,
       {{.name = "precision",
         .member = bind<&TrainingConfig::precision>(),
         .doc = "Arithmetic of the model. bf16-mixed: activations and dots in bf16; parameters, "
                "optimizer, reductions, softmax and norms in fp32. It needs no loss scaling."},
        {.name = "gradient_clip_norm",
         .member = bind<&TrainingConfig::gradient_clip_norm>(),
         .range = at_least(0),
         .doc = "Gradients are scaled down to this global norm if theirs is larger; 0 is off."},
        {.name = "on_nonfinite",
         .member = bind<&TrainingConfig::on_nonfinite>(),
         .doc = "On a NaN or infinite gradient, end the run with exit code 5 or skip the update."},
        {.name = "max_skipped_steps",
         .member = bind<&TrainingConfig::max_skipped_steps>(),
         .range = at_least(0),
         .doc = "This many skipped updates in a row, or half of the last 100 steps, end the run "
                "with exit code 5; 0 is no limit."},
        {.name = "ema",
         .member = bind<&TrainingConfig::ema>(),
         .range = fraction(),
         .doc = "Decay of an exponential moving average of all trained weights, such as 0.999: "
                "evaluations use it, and --ema of export, eval, generate and predict takes it. 0 "
                "is off."}}},
      {"training",
       section_of<&Config::batch>,
       {{.name = "deterministic",
         .member = bind<&BatchConfig::deterministic>(),
         .doc = "The results have the same bits on any number of ranks and threads."}}},
  };
}

Condition of_schedule(std::vector<std::string> names) {
  return {"scheduler.name", std::move(names)};
}

/// Those of one schedule each.
std::vector<KeyGroup> own_keys_of_schedules() {
  return {
      {"scheduler",
       section_of<&Config::scheduler>,
       {{.name = "power",
         .member = bind<&SchedulerConfig::power>(),
         .range = above(0),
         .doc = "Power of the part of the decay that is left; 1 is linear."}},
       of_schedule({"polynomial"})},
      {"scheduler",
       section_of<&Config::scheduler>,
       {{.name = "timescale",
         .member = bind<&SchedulerConfig::timescale>(),
         .range = count_at_least(0),
         .unit = "steps",
         .doc =
             "The rate has fallen to 1 / sqrt(2) of its peak so many steps after warm-up; 0 uses "
             "warmup_steps, or 10000 without warm-up."}},
       of_schedule({"inverse_sqrt"})},
      {"scheduler",
       section_of<&Config::scheduler>,
       {{.name = "pct_start",
         .member = bind<&SchedulerConfig::pct_start>(),
         .range = {0, 1},
         .doc = "Part of the cycle in which the rate rises."},
        {.name = "div_factor",
         .member = bind<&SchedulerConfig::div_factor>(),
         .range = at_least(1),
         .doc = "The first rate is the peak divided by this."},
        {.name = "final_div_factor",
         .member = bind<&SchedulerConfig::final_div_factor>(),
         .range = above(0),
         .doc = "The last rate is the first one divided by this."}},
       of_schedule({"one_cycle"})},
      {"scheduler",
       section_of<&Config::scheduler>,
       {{.name = "cooldown_steps",
         .member = bind<&SchedulerConfig::cooldown_steps>(),
         .range = count_at_least(0),
         .unit = "steps",
         .doc =
             "Steps before decay_steps in which the rate falls; before, it is the peak. 0 uses a "
             "tenth of decay_steps."},
        {.name = "cooldown_shape",
         .member = bind<&SchedulerConfig::cooldown_shape>(),
         .doc = "How the rate falls in these steps."}},
       of_schedule({"wsd"})},
      {"scheduler",
       section_of<&Config::scheduler>,
       {{.name = "milestones",
         .member = bind<&SchedulerConfig::milestones>(),
         .range = count_at_least(0),
         .unit = "steps",
         .doc = "Steps, in ascending order, from each of which on the rate is gamma times that "
                "before it.",
         .may_be_empty = true},
        {.name = "gamma",
         .member = bind<&SchedulerConfig::gamma>(),
         .range = above(0),
         .doc = "Factor of the rate at each milestone."}},
       of_schedule({"step"})},
      {"scheduler",
       section_of<&Config::scheduler>,
       {{.name = "factor",
         .member = bind<&SchedulerConfig::factor>(),
         .range = {0, 1, true, true},
         .doc = "Factor of the rate when early_stopping.metric no longer improves."},
        {.name = "patience",
         .member = bind<&SchedulerConfig::patience>(),
         .range = count_at_least(0),
         .unit = "evaluations",
         .doc = "The rate falls after more than this many evaluations without improvement."},
        {.name = "threshold",
         .member = bind<&SchedulerConfig::threshold>(),
         .range = fraction(),
         .doc = "Changes of the metric by a smaller part of the best are no improvement."},
        {.name = "cooldown",
         .member = bind<&SchedulerConfig::cooldown>(),
         .range = count_at_least(0),
         .unit = "evaluations",
         .doc = "Evaluations after a fall of the rate that are not counted."}},
       of_schedule({"plateau"})},
  };
}

std::vector<KeyGroup> optimizer_and_schedule() {
  return {
      {"optimizer",
       section_of<&Config::optimizer>,
       {{.name = "name",
         .member = ChoiceMember{std::get<Member<std::string>>(bind<&OptimizerConfig::name>()), {}},
         .doc = "Update rule"},
        {.name = "groups",
         .member = bind<&OptimizerConfig::groups>(),
         .doc =
             "Parameters with keys of the optimizer of their own, by patterns of their names (as "
             "those of model.freeze); the first group that matches has a parameter. Schedules "
             "scale all learning rates by one factor.",
         .may_be_empty = true}}},
      {"scheduler",
       section_of<&Config::scheduler>,
       {{.name = "name",
         .member = bind<&SchedulerConfig::name>(),
         .doc =
             "Shape of the learning rate after warm-up; one_cycle has its own, and plateau falls "
             "when early_stopping.metric no longer improves."}}},
      {"scheduler",
       section_of<&Config::scheduler>,
       {{.name = "warmup_steps",
         .member = bind<&SchedulerConfig::warmup_steps>(),
         .range = count_at_least(0),
         .unit = "steps",
         .doc = "Steps over which the learning rate first rises linearly to its peak."}},
       of_schedule({"constant", "linear", "cosine", "polynomial", "inverse_sqrt", "wsd", "step",
                    "plateau"})},
      {"scheduler",
       section_of<&Config::scheduler>,
       {{.name = "min_lr",
         .member = bind<&SchedulerConfig::min_lr>(),
         .range = at_least(0),
         .doc = "Learning rate at the end of the decay; of plateau the lowest one."}},
       of_schedule({"linear", "cosine", "polynomial", "wsd", "plateau"})},
      {"scheduler",
       section_of<&Config::scheduler>,
       {{.name = "decay_steps",
         .member = bind<&SchedulerConfig::decay_steps>(),
         .range = count_at_least(0),
         .unit = "steps",
         .doc = "Step at which min_lr is reached, warm-up included; of one_cycle the length of the "
                "cycle; 0 uses the length of the run."}},
       of_schedule({"linear", "cosine", "polynomial", "wsd", "one_cycle"})},
  };
}

}  // namespace

std::vector<KeyGroup> training_keys() {
  std::vector<KeyGroup> out = steps_and_batches();
  for (auto* keys : {&optimizer_and_schedule, &own_keys_of_schedules})
    std::ranges::move(keys(), std::back_inserter(out));
  return out;
}

}  // namespace lockstep
