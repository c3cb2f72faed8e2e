#include "trainer/task/batch.h"

#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/trace/context.h"
#include "core/trace/cut_trace.h"
#include "core/trace/functions.h"

namespace lockstep {

Batch::Batch(Fields fields, const std::source_location& where) : fields_(std::move(fields)) {
  for (const auto& [name, tensor] : fields_)
    if (!tensor.defined())
      raise_undefined(fmt::format("field '{}' of the batch", name), origin_of(where));
}

const Tensor& Batch::operator[](std::string_view name) const {
  const auto found = fields_.find(name);
  if (found != fields_.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [field, tensor] : fields_) names.push_back(field);
  raise(ErrorKind::kUsage, "the batch has no field '{}'; its fields are: {}", name,
        fmt::join(names, ", "));
}

std::int64_t Batch::size() const {
  LS_USER_CHECK(!fields_.empty(), "a batch without fields has no samples");
  const Tensor& first = fields_.begin()->second;
  LS_USER_CHECK(first.shape().rank() > 0, "field '{}' of the batch has no dimension of samples",
                fields_.begin()->first);
  return first.size(0);
}

Tensor Batch::count(std::source_location where) const {
  const std::int64_t samples = size();
  const LocationScope line(fields_.begin()->second.context(), where);
  if (has("mask")) return convert(sum((*this)["mask"]), DType::kI64);
  return fields_.begin()->second.context().constant(static_cast<double>(samples), DType::kI64);
}

Tensor Batch::masked_sum(const Tensor& values, std::source_location where) const {
  const LocationScope line("masked_sum", {&values}, where);
  LS_USER_CHECK(values.shape().rank() > 0 && values.size(0) == size(),
                "{}: masked_sum takes a value for each of the {} samples, not {}",
                values.context().origin().to_string(), size(), values.type().to_string());
  const Tensor wide = convert(values, DType::kF32);
  if (!has("mask")) return sum(wide);
  return sum(wide * broadcast_in_dim((*this)["mask"], values.shape(), {0}));
}

}  // namespace lockstep
