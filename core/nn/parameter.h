// Parameters: named, shaped, initialized by counter-based random numbers, so that every rank count
// and every order of construction gives the same values. Modules declare them (module.h); whoever
// owns a device gives them values.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/api.h"
#include "core/base/buffer.h"
#include "core/trace/ops.h"

namespace LOCKSTEP_API lockstep {

/// What a parameter is, which decides whether weight decay applies.
enum class ParameterKind : std::uint8_t {
  kMatrix,  ///< weights of dots and convolutions, embeddings: decayed
  kVector,  ///< biases and norms: not decayed
};

struct Initializer {
  enum class Kind : std::uint8_t { kConstant, kNormal, kUniform };
  Kind kind = Kind::kConstant;
  double a = 0;  ///< the constant; the normal's standard deviation; the uniform's bound: U(-a, a)

  static Initializer constant(double value) { return {Kind::kConstant, value}; }
  static Initializer normal(double stddev) { return {Kind::kNormal, stddev}; }
  static Initializer uniform(double bound) { return {Kind::kUniform, bound}; }
};

struct Parameter {
  std::string name;  ///< as in checkpoints: "h.0.attn.c_attn.weight"
  Shape shape;
  ParameterKind kind = ParameterKind::kMatrix;
  Initializer initializer;
  Tensor value;  ///< f32, undefined until given
  /// Whether steps change it. What is not trained has no gradient and no optimizer state.
  bool trainable = true;
  /// Parameters of a group have update settings of their own; empty: those of all.
  std::string group = {};
  /// Whether it is a factor of dots, and so worth a copy in their dtype.
  bool in_dots = false;
  /// The value in another float dtype, if whoever updates the value keeps one: a matrix need not be
  /// converted then each time it is used. Derived, and so no part of checkpoints.
  Tensor copy = {};

  /// The value. Error kUsage if none was given yet.
  const Tensor& get() const;
  /// The value in `dtype`: itself, the copy, or a conversion. Gradients flow to the value.
  Tensor in(DType dtype, Where where = Where::current()) const;
};

/// The initial value of a parameter: a function of (seed, name) only. f32.
HostTensor initial_value(const Parameter& parameter, std::uint64_t seed);

/// All parameters of a model, in the order of declaration. References stay valid.
class ParameterSet {
 public:
  /// Error kUsage for a name that exists.
  Parameter& declare(std::string name, Shape shape, ParameterKind kind, Initializer initializer);

  std::deque<Parameter>& all() { return parameters_; }
  const std::deque<Parameter>& all() const { return parameters_; }
  std::int64_t elements() const;
  /// Those that steps change, in order.
  std::vector<Parameter*> trained();
  /// All values, in order. Error kUsage if one is not given yet.
  std::vector<Tensor> values() const;

 private:
  std::deque<Parameter> parameters_;
};

}  // namespace lockstep
