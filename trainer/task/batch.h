// A batch on the device, as a model's loss sees it: the fields of one logical shard by name.
#pragma once

#include <map>
#include <source_location>
#include <string>
#include <string_view>

#include "core/base/api.h"
#include "core/trace/tensor.h"

namespace LOCKSTEP_API lockstep {

class Batch {
 public:
  using Fields = std::map<std::string, Tensor, std::less<>>;

  Batch() = default;
  /// `fields`: [samples, ...] each. "mask", where there is one (f32 [samples], in evaluations), is
  /// 0 for samples that only fill the batch up. Error kUsage for an undefined one.
  explicit Batch(Fields fields,
                 const std::source_location& where = std::source_location::current());

  /// Error kUsage that lists the fields there are.
  const Tensor& operator[](std::string_view name) const;
  bool has(std::string_view name) const { return fields_.contains(name); }
  const Fields& fields() const { return fields_; }

  /// Samples of a shard, those that only fill it up included.
  std::int64_t size() const;
  /// i64[]: the samples that count.
  Tensor count(std::source_location where = std::source_location::current()) const;
  /// values [samples, ...] summed over what counts: f32[]. Without a mask that is sum(values).
  /// Error kUsage for values that are not per sample.
  Tensor masked_sum(const Tensor& values,
                    std::source_location where = std::source_location::current()) const;

 private:
  Fields fields_;
};

}  // namespace lockstep
