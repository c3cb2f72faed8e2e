#include "core/nn/parameter.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/name_pattern.h"
#include "core/base/rng.h"
#include "core/trace/context.h"
#include "core/trace/elementwise.h"
#include "core/trace/gradients.h"
#include "core/trace/ops.h"

namespace lockstep {

HostTensor initial_value(const Parameter& parameter, std::uint64_t seed) {
  HostTensor out(DType::kF32, parameter.shape);
  const auto values = out.as<float>();
  const RngKey key{.seed = seed, .stream = rng_stream("init." + parameter.name)};
  const auto a = static_cast<float>(parameter.initializer.a);
  switch (parameter.initializer.kind) {
    case Initializer::Kind::kConstant: std::fill(values.begin(), values.end(), a); break;
    case Initializer::Kind::kNormal:
      random_normal(key, 0, values);
      for (float& value : values) value *= a;
      break;
    case Initializer::Kind::kUniform: {
      std::vector<std::uint32_t> bits(values.size());
      random_bits(key, 0, bits);
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = a * (2.0F * uniform_from_bits(bits[i]) - 1.0F);
      break;
    }
  }
  return out;
}

const Tensor& Parameter::get() const {
  LS_USER_CHECK(value.defined(),
                "parameter '{}' has no value yet: a Trainer or Session::initialize() gives it",
                name);
  return value;
}

Tensor Parameter::in(DType dtype, Where where) const {
  const LocationScope line(get().context(), where);
  if (dtype != value.dtype() && copy.defined() && copy.dtype() == dtype)
    return stand_in(copy, value);
  return convert(value, dtype);
}

Parameter& ParameterSet::declare(std::string name, Shape shape, ParameterKind kind,
                                 Initializer initializer) {
  for (const Parameter& p : parameters_)
    LS_USER_CHECK(p.name != name, "parameter '{}' is declared twice", name);
  parameters_.push_back({std::move(name), shape, kind, initializer, Tensor()});
  return parameters_.back();
}

std::int64_t ParameterSet::elements() const {
  std::int64_t count = 0;
  for (const Parameter& p : parameters_) count += p.shape.elements();
  return count;
}

const Parameter& ParameterSet::at(const std::string& name) const {
  std::vector<std::string_view> names;
  names.reserve(parameters_.size());
  for (const Parameter& p : parameters_) {
    if (p.name == name) return p;
    names.push_back(p.name);
  }
  raise(ErrorKind::kUsage, "no parameter of the model has the name '{}'{}", name,
        nearest_names(name, names));
}

std::vector<Parameter*> ParameterSet::like(const std::string& pattern, std::string_view setting) {
  std::vector<Parameter*> out;
  for (Parameter& p : parameters_)
    if (matches(p.name, pattern)) out.push_back(&p);
  if (!out.empty()) return out;
  std::vector<std::string_view> names;
  names.reserve(parameters_.size());
  for (const Parameter& p : parameters_) names.push_back(p.name);
  raise(ErrorKind::kUsage, "{}: no parameter of the model matches '{}'{}", setting, pattern,
        nearest_names(pattern, names));
}

std::vector<Parameter*> ParameterSet::trained() {
  std::vector<Parameter*> out;
  for (Parameter& p : parameters_)
    if (p.trainable) out.push_back(&p);
  return out;
}

std::vector<Tensor> ParameterSet::values() const {
  std::vector<Tensor> out;
  out.reserve(parameters_.size());
  for (const Parameter& p : parameters_) {
    out.push_back(p.get());
  }
  return out;
}

}  // namespace lockstep
