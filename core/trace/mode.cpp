#include "core/trace/mode.h"

#include <utility>

#include "core/trace/context.h"

namespace lockstep {

ModeScope::ModeScope(TraceContext& context, Mode mode)
    : context_(context), outer_(context.mode()), mode_(std::move(mode)) {
  context.set_mode(&mode_);
}

ModeScope::~ModeScope() {
  context_.set_mode(outer_);
}

const Mode& mode_of(const TraceContext& context) {
  static const Mode kEvaluation;
  return context.mode() == nullptr ? kEvaluation : *context.mode();
}

Tensor to_compute_dtype(const Tensor& x, Where where) {
  return convert(x, mode_of(x).compute_dtype, where);
}

}  // namespace lockstep
