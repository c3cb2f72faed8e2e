// Short ways to write operands and to evaluate one op with the oracle.
#pragma once

#include <vector>

#include "core/ir/infer.h"
#include "core/kernels/reference/reference.h"
#include "tests/fixtures/special_values.h"

namespace lockstep {

inline HostTensor tensor(DType dtype, Shape shape, const std::vector<double>& values) {
  return from_doubles(dtype, shape, values);
}
inline HostTensor f32(Shape shape, const std::vector<double>& values) {
  return tensor(DType::kF32, shape, values);
}
inline HostTensor f64(Shape shape, const std::vector<double>& values) {
  return tensor(DType::kF64, shape, values);
}
inline HostTensor i32(Shape shape, const std::vector<double>& values) {
  return tensor(DType::kI32, shape, values);
}
inline HostTensor i64(Shape shape, const std::vector<double>& values) {
  return tensor(DType::kI64, shape, values);
}
inline HostTensor u8(Shape shape, const std::vector<double>& values) {
  return tensor(DType::kU8, shape, values);
}
inline HostTensor boolean(Shape shape, const std::vector<double>& values) {
  return tensor(DType::kBool, shape, values);
}
/// A vector.
inline HostTensor f32(const std::vector<double>& values) {
  return f32({static_cast<std::int64_t>(values.size())}, values);
}
inline HostTensor i32(const std::vector<double>& values) {
  return i32({static_cast<std::int64_t>(values.size())}, values);
}
inline HostTensor boolean(const std::vector<double>& values) {
  return boolean({static_cast<std::int64_t>(values.size())}, values);
}
inline HostTensor i64_scalar(std::int64_t value) {
  return HostTensor::scalar(value);
}

inline HostTensor evaluate(Op op, const std::vector<HostTensor>& operands, Attrs attrs = {}) {
  std::vector<Type> types;
  for (const HostTensor& operand : operands) types.push_back({operand.dtype(), operand.shape()});
  Node node;
  node.op = op;
  node.type = infer_type(op, types, attrs);
  node.attrs = std::move(attrs);
  const HostTensor result = evaluate_reference_node(node, operands)[0];
  LS_CHECK(result.dtype() == node.type.dtype && result.shape() == node.type.shape,
           "a reference result has the wrong type");
  return result;
}

/// The elements of the result.
inline std::vector<double> values(Op op, const std::vector<HostTensor>& operands,
                                  Attrs attrs = {}) {
  return to_doubles(evaluate(op, operands, std::move(attrs)));
}

}  // namespace lockstep
