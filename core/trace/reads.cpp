#include "core/trace/reads.h"

#include "core/trace/context.h"

namespace lockstep {

StepNumberRead::StepNumberRead(const TraceContext& context, std::string_view name,
                               std::int64_t step)
    : observer_(context.read_observer()) {
  if (observer_ != nullptr) observer_->name_reads(name, step);
}

StepNumberRead::~StepNumberRead() {
  if (observer_ != nullptr) observer_->name_reads({}, 0);
}

OwnReads::OwnReads(TraceContext& context)
    : context_(context), observer_(context.set_read_observer(nullptr)) {}

OwnReads::~OwnReads() {
  context_.set_read_observer(observer_);
}

}  // namespace lockstep
