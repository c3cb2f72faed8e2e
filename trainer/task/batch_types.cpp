#include "trainer/task/batch_types.h"

#include <fmt/format.h>

#include "core/runtime/allocator.h"

namespace lockstep {
namespace {

/// Of a field of variable length, on the device.
const char* length_name(const FieldSpec& field) {
  const char* name = field.shape.dim(0).name;
  return name == nullptr ? "length" : name;
}

}  // namespace

BatchTypes train_batch_types(const Dataset& dataset, const Padding& padding, std::int64_t samples) {
  BatchTypes out;
  for (const FieldSpec& field : dataset.fields()) {
    Shape shape{Dim(samples, "batch")};
    for (int i = 0; i < field.shape.rank(); ++i) shape.push_back(field.shape.dim(i));
    if (field.variable_length) {
      const Dim length(largest_length(padding, field.shape[0]), length_name(field));
      shape.set_dim(1, length);
      if (field.name == padding.mask_of)
        out[padding.mask_name] = {DType::kF32, Shape{Dim(samples, "batch"), length}};
    }
    out[field.name] = {field.dtype, shape};
  }
  return out;
}

BatchTypes eval_batch_types(const Dataset& dataset, const Padding& padding, std::int64_t samples) {
  BatchTypes out = train_batch_types(dataset, padding, samples);
  out["mask"] = {DType::kF32, Shape{Dim(samples, "batch")}};
  return out;
}

std::vector<std::string> padded_dimensions(const Dataset& dataset, const Padding& padding,
                                           std::string_view prefix) {
  std::vector<std::string> out;
  const auto add = [&](const std::string& name, const FieldSpec& field) {
    out.push_back(fmt::format("{}{}[{}]", prefix, name, length_name(field)));
  };
  for (const FieldSpec& field : dataset.fields()) {
    if (!field.variable_length) continue;
    add(field.name, field);
    if (field.name == padding.mask_of) add(padding.mask_name, field);
  }
  return out;
}

std::int64_t batch_bytes(const BatchTypes& batch) {
  std::int64_t bytes = 0;
  for (const auto& [name, type] : batch)
    bytes += static_cast<std::int64_t>(Allocator::block_bytes(type.bytes()));
  return bytes;
}

}  // namespace lockstep
