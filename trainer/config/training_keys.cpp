#include "trainer/config/training_keys.h"

#include <algorithm>
#include <iterator>
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
                "with exit code 5; 0 is no limit."}}},
      {"training",
       section_of<&Config::batch>,
       {{.name = "deterministic",
         .member = bind<&BatchConfig::deterministic>(),
         .doc = "The results have the same bits on any number of ranks and threads."}}},
  };
}

std::vector<KeyGroup> optimizer_and_schedule() {
  return {
      {"optimizer",
       section_of<&Config::optimizer>,
       {{.name = "name",
         .member = ChoiceMember{std::get<Member<std::string>>(bind<&OptimizerConfig::name>()), {}},
         .doc = "Update rule"}}},
      {"scheduler",
       section_of<&Config::scheduler>,
       {{.name = "name",
         .member = bind<&SchedulerConfig::name>(),
         .doc = "Shape of the learning rate after warm-up."},
        {.name = "warmup_steps",
         .member = bind<&SchedulerConfig::warmup_steps>(),
         .range = count_at_least(0),
         .unit = "steps",
         .doc = "Steps over which the learning rate first rises linearly to its peak."}}},
      {"scheduler",
       section_of<&Config::scheduler>,
       {{.name = "min_lr",
         .member = bind<&SchedulerConfig::min_lr>(),
         .range = at_least(0),
         .doc = "Learning rate at the end of the decay."},
        {.name = "decay_steps",
         .member = bind<&SchedulerConfig::decay_steps>(),
         .range = count_at_least(0),
         .unit = "steps",
         .doc =
             "Step at which min_lr is reached, warm-up included; 0 uses the length of the run."}},
       Condition{"scheduler.name", {"linear", "cosine"}}},
  };
}

}  // namespace

std::vector<KeyGroup> training_keys() {
  std::vector<KeyGroup> out = steps_and_batches();
  std::ranges::move(optimizer_and_schedule(), std::back_inserter(out));
  return out;
}

}  // namespace lockstep
