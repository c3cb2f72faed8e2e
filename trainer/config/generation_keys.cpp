#include "trainer/config/generation_keys.h"

namespace lockstep {

std::vector<KeyGroup> generation_keys(const Condition& generates_text) {
  return {
      {"sample",
       [](Config& config) -> void* { return &config.sample; },
       {{.name = "prompt",
         .member = bind<&SampleConfig::prompt>(),
         .doc = "Text that generation continues.",
         .may_be_empty = true},
        {.name = "max_new_tokens",
         .member = bind<&SampleConfig::max_new_tokens>(),
         .range = size_at_least(0),
         .unit = "tokens",
         .doc = "Tokens to generate."},
        {.name = "temperature",
         .member = bind<&SampleConfig::temperature>(),
         .range = at_least(0),
         .doc = "Divides the logits; 0 always draws the likeliest token."},
        {.name = "top_k",
         .member = bind<&SampleConfig::top_k>(),
         .range = size_at_least(0),
         .unit = "tokens",
         .doc = "Draw from the k likeliest tokens only; 0 is all."},
        {.name = "top_p",
         .member = bind<&SampleConfig::top_p>(),
         .range = {0, 1, true},
         .doc = "Draw only from the fewest likeliest tokens with this total probability, after "
                "top_k; 1 is all."},
        {.name = "num_samples",
         .member = bind<&SampleConfig::num_samples>(),
         .range = {1, 4096},
         .doc = "Continuations of the prompt, drawn independently."},
        {.name = "seed",
         .member = bind<&SampleConfig::seed>(),
         .range = count_at_least(0),
         .doc = "Seeds the draws of generation."}},
       generates_text},
  };
}

}  // namespace lockstep
