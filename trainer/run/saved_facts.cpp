#include "trainer/run/saved_facts.h"

#include <utility>

namespace lockstep {
namespace {

/// Of a SharedCheckpoint or a CheckpointReader.
template <class Saved>
SavedData read_data(const Saved& saved) {
  return {.tokenizer = saved_tokenizer(saved.trainer().tokenizer, saved.path()),
          .samples = saved_sample_facts(saved.trainer().samples, saved.path())};
}

template <class Saved>
SavedFacts read_facts(const Saved& saved, const Registry& registry) {
  Config config = saved_config(saved.config_yaml(), saved.path(), registry);
  return {read_data(saved), std::move(config)};
}

}  // namespace

SavedData data_of(const SharedCheckpoint& saved) {
  return read_data(saved);
}

std::vector<std::string> text_classes(const SavedData& saved, const DataNeeds& needs) {
  if (needs.inputs != "labelled_tokens") return {};
  if (saved.samples && !saved.samples->classes.empty()) return saved.samples->classes;
  std::vector<std::string> out;
  for (std::int64_t i = 0; i < needs.n_classes; ++i) out.push_back(std::to_string(i));
  return out;
}

SavedFacts facts_of(const SharedCheckpoint& saved, const Registry& registry) {
  return read_facts(saved, registry);
}

SavedFacts facts_of(const CheckpointReader& saved, const Registry& registry) {
  return read_facts(saved, registry);
}

}  // namespace lockstep
