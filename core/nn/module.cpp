#include "core/nn/module.h"

#include "core/base/error.h"

namespace lockstep {

struct Module::Declared {
  ParameterSet parameters;
  ModuleBufferSet buffers;
};

Module::Module()
    : owned_(std::make_unique<Declared>()),
      parameters_(&owned_->parameters),
      buffers_(&owned_->buffers) {}

Module::Module(Module& parent, std::string_view name)
    : parameters_(parent.parameters_), buffers_(parent.buffers_), path_(parent.path_of(name)) {
  LS_USER_CHECK(!name.empty(), "a module in '{}' has no name", parent.path());
}

Module::~Module() = default;

std::string Module::path_of(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

std::string_view Module::call_name() const {
  return path_.empty() ? "the model" : std::string_view(path_);
}

bool Module::is_below(std::string_view name) const {
  return path_.empty() || (name.starts_with(path_) && name.substr(path_.size()).starts_with('.'));
}

void Module::set_trainable(bool trainable) {
  for (Parameter& parameter : parameters_->all())
    if (is_below(parameter.name)) parameter.trainable = trainable;
}

void Module::set_group(std::string_view group) {
  for (Parameter& parameter : parameters_->all())
    if (is_below(parameter.name)) parameter.group = group;
}

void Module::set_group(std::string_view group, const std::vector<std::string>& patterns,
                       std::string_view setting) {
  for (const std::string& pattern : patterns)
    for (Parameter* parameter : parameters_->like(pattern, setting))
      if (is_below(parameter->name) && parameter->group.empty()) parameter->group = group;
}

ModuleScope Module::enter(const Operand& x) const {
  return {context_of(call_name(), {&x.tensor()}, x.where()), path_};
}

ModuleScope Module::enter(const Tensor& x, Where where) const {
  return {context_of(call_name(), {&x}, where), path_, where};
}

Parameter& Module::parameter(std::string_view name, const Shape& shape, ParameterKind kind,
                             Initializer initializer) {
  return parameters_->declare(path_of(name), shape, kind, initializer);
}

ModuleBuffer& Module::buffer(std::string_view name, HostTensor initial) {
  const std::string path = path_of(name);
  for (const Parameter& parameter : parameters_->all())
    LS_USER_CHECK(parameter.name != path, "buffer '{}' has the name of a parameter", path);
  return buffers_->declare(path, std::move(initial));
}

}  // namespace lockstep
