// Origins for nodes that are recorded on behalf of other code.
#pragma once

#include <optional>

#include "core/trace/context.h"

namespace lockstep {

/// New nodes take `origin` while this lives.
class OriginScope {
 public:
  OriginScope(TraceContext& context, const Origin* origin)
      : context_(context), previous_(context.set_origin(origin)) {}
  ~OriginScope() { context_.set_origin(previous_); }
  OriginScope(const OriginScope&) = delete;
  OriginScope& operator=(const OriginScope&) = delete;

 private:
  TraceContext& context_;
  const Origin* previous_;
};

/// While alive, new nodes show the line of the user's call that records the step, if there is one:
/// for nodes that lockstep adds, such as the update of parameters.
class CallerScope {
 public:
  explicit CallerScope(TraceContext& context) {
    if (const auto& caller = context.caller()) line_.emplace(context, *caller);
  }

 private:
  std::optional<LocationScope> line_;
};

}  // namespace lockstep
