#include "trainer/config/generation_keys.h"

namespace lockstep {

std::vector<KeyGroup> generation_keys(const Condition& generates_text) {
  return {
      {"sample",
       [](Config& config) -> void* { return &config.sample; },
       {{.name = "interval",
         .member = bind<&SampleConfig::interval>(),
         .range = count_at_least(0),
         .unit = "steps",
         .doc = "Steps between samples that a training run logs and writes for TensorBoard; 0 is "
                "none."},
        {.name = "prompt",
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
         .doc =
             "Continuations of the prompt, drawn independently; of beam search the best ones, at "
             "most num_beams."},
        {.name = "seed",
         .member = bind<&SampleConfig::seed>(),
         .range = count_at_least(0),
         .doc = "Seeds the draws of generation."},
        {.name = "num_beams",
         .member = bind<&SampleConfig::num_beams>(),
         .range = {1, 1024},
         .doc = "Above 1, beam search with so many beams replaces drawing, as Hugging Face's "
                "generate has it: temperature, top_k, top_p and seed have no effect."},
        {.name = "length_penalty",
         .member = bind<&SampleConfig::length_penalty>(),
         .range = {-10, 10},
         .doc = "Beam search ranks texts by their log-probability divided by their number of new "
                "tokens to this power: above 0 prefers long texts, below 0 short ones."},
        {.name = "early_stopping",
         .member = bind<&SampleConfig::early_stopping>(),
         .doc = "Beam search ends when num_beams texts have ended, not when better ones are "
                "unlikely."}},
       generates_text},
  };
}

}  // namespace lockstep
