// Parameters: named, shaped, initialized by counter-based random numbers, so that every rank count
// and every order of construction gives the same values. Modules declare them (module.h); the owner
// of the device sets their values.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/api.h"
#include "core/base/buffer.h"
#include "core/trace/tensor.h"

namespace LOCKSTEP_API lockstep {

/// The kind of a parameter decides whether weight decay applies.
enum class ParameterKind : std::uint8_t {
  kMatrix,  ///< weights of dots and convolutions, embeddings: decayed
  kVector,  ///< biases and norms: not decayed
};

/// How the elements of a parameter are drawn.
struct Initializer {
  /// The distribution.
  enum class Kind : std::uint8_t {
    kConstant,  ///< one value
    kNormal,    ///< mean 0
    kUniform,   ///< between -a and a
  };
  Kind kind = Kind::kConstant;  ///< which distribution
  double a = 0;  ///< the constant; the normal's standard deviation; the uniform's bound: U(-a, a)

  /// All elements equal.
  static Initializer constant(double value) { return {Kind::kConstant, value}; }
  /// Mean 0 and this standard deviation.
  static Initializer normal(double stddev) { return {Kind::kNormal, stddev}; }
  /// U(-bound, bound).
  static Initializer uniform(double bound) { return {Kind::kUniform, bound}; }
};

/// A named tensor that training changes.
struct Parameter {
  std::string name;                             ///< as in checkpoints: "h.0.attn.c_attn.weight"
  Shape shape;                                  ///< of the value
  ParameterKind kind = ParameterKind::kMatrix;  ///< whether weight decay applies
  Initializer initializer;                      ///< gives the first value
  Tensor value;                                 ///< f32, undefined until it is set
  /// Whether steps change it. A parameter that is not trained has no gradient and no optimizer
  /// state.
  bool trainable = true;
  /// Parameters of a group have their own update settings; empty: the default settings.
  std::string group = {};
  /// Whether it is a factor of dots: then a copy in their dtype pays.
  bool in_dots = false;
  /// The value in another float dtype, if the update keeps such a copy: then a matrix is not
  /// converted at each use. It is derived, so checkpoints do not contain it.
  Tensor copy = {};

  /// The value. Error kUsage if it is not set yet.
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

  std::deque<Parameter>& all() { return parameters_; }              ///< in the order of declaration
  const std::deque<Parameter>& all() const { return parameters_; }  ///< likewise
  std::int64_t elements() const;                                    ///< of all parameters together
  /// By name, as "h.0.attn.weight": to use a layer's weight elsewhere, too. Error kUsage with the
  /// nearest names if there is none.
  const Parameter& at(const std::string& name) const;
  /// Those whose names match a pattern ('*', '?', [0-5]), in order. Error kUsage, which begins with
  /// `setting` and has the nearest names, if there is none.
  std::vector<Parameter*> like(const std::string& pattern, std::string_view setting);
  /// The trainable ones, in order.
  std::vector<Parameter*> trained();
  /// All values, in order. Error kUsage if one is not set yet.
  std::vector<Tensor> values() const;

 private:
  std::deque<Parameter> parameters_;
};

}  // namespace lockstep
