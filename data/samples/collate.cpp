#include "data/samples/collate.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"

namespace lockstep {
namespace {

bool fits(const Shape& shape, const FieldSpec& field) {
  if (!field.variable_length) return shape == field.shape;
  if (shape.rank() != field.shape.rank() || shape[0] > field.shape[0]) return false;
  for (int i = 1; i < shape.rank(); ++i) {
    if (shape[i] != field.shape[i]) return false;
  }
  return true;
}

const HostTensor& field_of(const Sample& sample, std::int64_t index, const FieldSpec& field) {
  const auto found = sample.find(field.name);
  if (found == sample.end()) {
    raise(ErrorKind::kData, "sample {} has no field '{}'", index, field.name);
  }
  const HostTensor& tensor = found->second;
  if (tensor.dtype() != field.dtype) {
    raise(ErrorKind::kData, "field '{}' of sample {} is {}, not {}", field.name, index,
          name_of(tensor.dtype()), name_of(field.dtype));
  }
  if (!fits(tensor.shape(), field)) {
    raise(ErrorKind::kData, "field '{}' of sample {} has shape {}, but {}{} is expected",
          field.name, index, tensor.shape().to_string(), field.variable_length ? "at most " : "",
          field.shape.to_string());
  }
  return tensor;
}

Shape batched(std::int64_t count, const Shape& shape) {
  Shape out{Dim(count, "batch")};
  for (int i = 0; i < shape.rank(); ++i) out.push_back(shape.dim(i));
  return out;
}

/// Fills `to` with copies of `element`.
void fill(std::span<std::byte> to, std::span<const std::byte> element) {
  for (std::size_t at = 0; at < to.size(); at += element.size()) {
    std::memcpy(to.data() + at, element.data(), element.size());
  }
}

double pad_value(const Padding& padding, const FieldSpec& field) {
  const auto found = padding.pad_values.find(field.name);
  return found == padding.pad_values.end() ? field.pad_value : found->second;
}

HostTensor stack(std::span<const HostTensor> tensors, const FieldSpec& field, const Shape& shape,
                 const Padding& padding) {
  HostTensor out(field.dtype, batched(static_cast<std::int64_t>(tensors.size()), shape));
  const HostTensor pad =
      from_doubles(field.dtype, Shape{{1}}, std::vector<double>{pad_value(padding, field)});
  const std::size_t row = out.bytes().size() / tensors.size();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto to = out.bytes().subspan(i * row, row);
    const auto from = tensors[i].bytes();
    if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
    fill(to.subspan(from.size()), pad.bytes());
  }
  return out;
}

HostTensor content_mask(std::span<const HostTensor> tensors, Dim length) {
  HostTensor out(DType::kF32, {Dim(static_cast<std::int64_t>(tensors.size()), "batch"), length});
  auto mask = out.as<float>();
  std::ranges::fill(mask, 0.0F);
  for (const HostTensor& tensor : tensors) {
    std::fill_n(mask.begin(), tensor.shape()[0], 1.0F);
    mask = mask.subspan(static_cast<std::size_t>(length.size));
  }
  return out;
}

}  // namespace

HostBatch collate(std::span<const Sample> samples, std::span<const std::int64_t> indices,
                  std::span<const FieldSpec> fields, const Padding& padding,
                  const Lengths& elsewhere) {
  LS_CHECK(!samples.empty() && samples.size() == indices.size(), "{} samples and {} indices",
           samples.size(), indices.size());
  HostBatch out;
  for (const FieldSpec& field : fields) {
    std::vector<HostTensor> tensors;
    const auto other = elsewhere.find(field.name);
    std::int64_t longest = other == elsewhere.end() ? 0 : other->second;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      tensors.push_back(field_of(samples[i], indices[i], field));
      if (field.variable_length) longest = std::max(longest, tensors.back().shape()[0]);
    }
    Shape shape = field.shape;
    if (field.variable_length) {
      const char* name = shape.dim(0).name;
      shape.set_dim(0, Dim(padded_length(padding, longest, field.shape[0]),
                           name == nullptr ? "length" : name));
      if (field.name == padding.mask_of) {
        out[padding.mask_name] = content_mask(tensors, shape.dim(0));
      }
    }
    out[field.name] = stack(tensors, field, shape, padding);
  }
  return out;
}

}  // namespace lockstep
