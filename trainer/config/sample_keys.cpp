#include "trainer/config/sample_keys.h"

namespace lockstep {
namespace {

void* data_section(Config& config) {
  return &config.data;
}

}  // namespace

std::vector<KeyGroup> length_keys(const Condition& varies) {
  return {
      {"data",
       data_section,
       {{.name = "padding",
         .member = bind<&DataConfig::padding>(),
         .doc = "Samples of a step are padded to the longest of the data (max), to the step's "
                "longest, or to the smallest of a few lengths that holds it (bucket). Each length "
                "compiles a program."},
        {.name = "pad_to_multiple_of",
         .member = bind<&DataConfig::pad_to_multiple_of>(),
         .range = size_at_least(1),
         .unit = "tokens",
         .doc = "Padded lengths are rounded up to a multiple of this number."},
        {.name = "group_by_length",
         .member = bind<&DataConfig::group_by_length>(),
         .range = count_at_least(0),
         .unit = "samples",
         .doc = "Samples of similar length are grouped into the same step, within windows of this "
                "many samples of the shuffled order; 0 is off."}},
       varies},
      {"data",
       data_section,
       {{.name = "buckets",
         .member = bind<&DataConfig::buckets>(),
         .range = size_at_least(1),
         .unit = "tokens",
         .doc = "Lengths to pad to, in ascending order; auto chooses those with the least padding "
                "for the data.",
         .empty_word = "auto"},
        {.name = "max_buckets",
         .member = bind<&DataConfig::max_buckets>(),
         .range = {1, 1024},
         .unit = "lengths",
         .doc = "Maximum number of lengths that data.buckets: auto chooses."}},
       Condition{"data.padding", {"bucket"}}},
  };
}

std::vector<KeyGroup> masking_keys(const Condition& masks) {
  return {
      {"data",
       data_section,
       {{.name = "mlm_probability",
         .member = bind<&DataConfig::mlm_probability>(),
         .range = {0, 1, true},
         .doc = "Probability that the model must predict a token; 80 % of these tokens become the "
                "mask token, 10 % a random one, 10 % stay."},
        {.name = "mlm_whole_words",
         .member = bind<&DataConfig::mlm_whole_words>(),
         .doc = "Choose words instead, with all of their tokens."}},
       masks},
  };
}

}  // namespace lockstep
