#include "core/trace/remat.h"

#include "core/base/error.h"

namespace lockstep {

RematScope::RematScope(TraceContext& context)
    : context_(context), epoch_(context.epoch()), begin_(context.pending().size()) {}

void RematScope::finish(std::span<const Tensor> outputs, std::source_location where) {
  LS_USER_CHECK(context_.epoch() == epoch_,
                "{}: the trace was cut within remat(): no value can be read there",
                context_.origin_at(where).to_string());
  const Origin origin = context_.origin_at(where);
  RematRegion region{begin_, context_.pending().size(), {}, origin};
  for (const Tensor& output : outputs) {
    if (!output.defined()) raise_undefined("what remat() is to keep", origin);
    region.outputs.push_back(context_.node_of(output));
  }
  context_.recompute(std::move(region));
}

}  // namespace lockstep
