// Nodes that are recorded on behalf of others.
#pragma once

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

}  // namespace lockstep
