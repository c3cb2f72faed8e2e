#include "core/nn/module_buffer.h"

#include "core/base/error.h"
#include "core/trace/mode.h"
#include "core/trace/origin_scope.h"

namespace lockstep {
const Tensor& ModuleBuffer::get() const {
  LS_USER_CHECK(value.defined(),
                "buffer '{}' has no value yet: a Trainer or Session::initialize() gives it", name);
  return value;
}

void ModuleBuffer::update(const Tensor& contribution, Rule rule, Where where) {
  if (!mode_of(context_of(name, {&contribution}, where)).training) return;
  LS_USER_CHECK(is_float(contribution.dtype()),
                "buffer '{}' is updated with {}; contributions of micro-batches are averaged, and "
                "so must be of a float dtype",
                name, contribution.type().to_string());
  updates_.push_back({contribution, std::move(rule)});
}

void ModuleBuffer::update(TraceContext& context, Rule rule) {
  if (mode_of(context).training) updates_.push_back({Tensor(), std::move(rule)});
}

void ModuleBuffer::blend(const Tensor& contribution, double momentum, Where where) {
  LS_USER_CHECK(is_float(dtype()), "buffer '{}' of {} is blended, which needs a float dtype", name,
                name_of(dtype()));
  const Origin called = context_of(name, {&contribution}, where).origin_at(where);
  LS_USER_CHECK(contribution.shape() == shape(),
                "buffer '{}' of shape {} is blended with a contribution of shape {}", name,
                shape().to_string(), contribution.shape().to_string());
  update(contribution, [momentum, called](const Tensor& old, const Tensor& mean) {
    const Origin origin{called.file, called.line, old.context().scope()};
    const OriginScope line(old.context(), &origin);
    return old * (1.0 - momentum) + convert(mean, old.dtype()) * momentum;
  });
}

ModuleBuffer& ModuleBufferSet::declare(std::string name, HostTensor initial) {
  for (const ModuleBuffer& b : buffers_)
    LS_USER_CHECK(b.name != name, "buffer '{}' is declared twice", name);
  ModuleBuffer& out = buffers_.emplace_back();
  out.name = std::move(name);
  out.initial = std::move(initial);
  return out;
}

}  // namespace lockstep
