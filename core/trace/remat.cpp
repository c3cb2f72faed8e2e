#include "core/trace/remat.h"

#include "core/base/error.h"

namespace lockstep {

RematScope::RematScope(TraceContext& context, std::source_location where)
    : context_(context),
      origin_(context.origin_at(where)),
      epoch_(context.epoch()),
      begin_(context.pending().size()) {}

void RematScope::finish(std::span<const Tensor> outputs, std::source_location where) {
  LS_USER_CHECK(context_.epoch() == epoch_,
                "{}: the trace was cut within remat(): no value can be read there",
                context_.origin_at(where).to_string());
  RematRegion region{begin_, context_.pending().size(), {}, origin_};
  for (const Tensor& output : outputs) {
    if (!output.defined()) raise_undefined("what remat() is to keep", context_.origin_at(where));
    region.outputs.push_back(context_.node_of(output));
  }
  context_.recompute(std::move(region));
}

}  // namespace lockstep
