#include "data/dataset.h"

#include "core/base/error.h"

namespace lockstep {

std::map<std::string, std::int64_t> Dataset::lengths(std::int64_t index) const {
  const Sample sample = get(index);
  std::map<std::string, std::int64_t> out;
  for (const FieldSpec& field : fields()) {
    const auto found = sample.find(field.name);
    if (field.variable_length && found != sample.end() && found->second.shape().rank() > 0)
      out[field.name] = found->second.shape()[0];
  }
  return out;
}

void check_index(const Dataset& dataset, std::int64_t index) {
  LS_CHECK(index >= 0 && index < dataset.size(), "sample {} of a dataset of {} was asked for",
           index, dataset.size());
}

}  // namespace lockstep
