// A batch on the device, as passed to a model's loss: the fields of one micro-batch by name.
#pragma once

#include <map>
#include <source_location>
#include <string>
#include <string_view>

#include "core/base/api.h"
#include "core/trace/tensor.h"

namespace LOCKSTEP_API lockstep {

/// The fields of one micro-batch.
class Batch {
 public:
  using Fields = std::map<std::string, Tensor, std::less<>>;  ///< tensors by field

  Batch() = default;
  /// `fields`: [samples, ...] each. "mask" (f32 [samples], in evaluations only) is 0 for padding
  /// samples, which only fill the batch up. Error kUsage for an undefined field.
  explicit Batch(Fields fields,
                 const std::source_location& where = std::source_location::current());

  /// Error kUsage that lists the existing fields.
  const Tensor& operator[](std::string_view name) const;
  /// Whether there is such a field.
  bool has(std::string_view name) const { return fields_.contains(name); }
  const Fields& fields() const { return fields_; }  ///< all of them

  /// Number of samples of the micro-batch, padding samples included.
  std::int64_t size() const;
  /// i64[]: the number of samples that count, without padding samples.
  Tensor count(std::source_location where = std::source_location::current()) const;
  /// The sum of values [samples, ...] over the samples that count: f32[]. Without a mask it is
  /// sum(values). Error kUsage for values that are not per sample.
  Tensor masked_sum(const Tensor& values,
                    std::source_location where = std::source_location::current()) const;

 private:
  Fields fields_;
};

}  // namespace lockstep
