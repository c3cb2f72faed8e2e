#include "trainer/registry/open_data.h"

#include "trainer/registry/registry.h"

namespace lockstep {

DataSource open_data(const Config& config, const Registry& registry, const KnownData& known) {
  OpenContext context{.needs = registry.needs(config.model),
                      .seed = static_cast<std::uint64_t>(config.run.seed),
                      .tokenizer = config.tokenizer,
                      .mlm_probability = config.data.mlm_probability,
                      .mlm_whole_words = config.data.mlm_whole_words,
                      .tokenizer_json = known.tokenizer_json,
                      .classes = known.classes};
  context.sequence_length =
      config.data.sequence_length > 0 ? config.data.sequence_length : context.needs.sequence_length;
  return registry.open_dataset(config.data, context);
}

}  // namespace lockstep
