#include "data/samples/dataset.h"

#include "core/base/error.h"
#include "data/samples/digest.h"
#include "data/samples/fetch.h"

namespace lockstep {

std::string Dataset::digest() const {
  Sha256 out;
  for (std::int64_t i = 0; i < size(); ++i)
    for (const auto& [name, value] : fetch_sample(*this, i)) {
      const std::string head =
          fmt::format("{} {} {}\n", name, name_of(value.dtype()), value.shape().to_string());
      out.update(head.data(), head.size());
      out.update(value.bytes().data(), value.bytes().size());
    }
  return finish_hex(out);
}

void Dataset::mix(std::span<Sample> /*samples*/, std::span<const std::int64_t> /*indices*/,
                  const DrawKey& /*key*/) const {}

Sample Dataset::draw(std::int64_t index, const DrawKey& /*key*/) const {
  return get(index);
}

std::string Dataset::describe() const {
  return fmt::format("{} samples", size());
}

std::string Dataset::source(std::int64_t /*index*/) const {
  return "";
}

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
  LS_CHECK(index >= 0 && index < dataset.size(), "sample {} of a dataset of {} was requested",
           index, dataset.size());
}

}  // namespace lockstep
