#include "core/trace/tensor.h"

#include <new>

#include "core/base/error.h"
#include "core/trace/context.h"
#include "core/trace/mode.h"
#include "core/trace/reads.h"

namespace lockstep {

TensorState::TensorState(TraceContext& c, Type t) : context(&c), type(t), previous(c.last_) {
  (previous == nullptr ? c.first_ : previous->next) = this;
  c.last_ = this;
}

TensorState::~TensorState() {
  if (context == nullptr) return;
  (previous == nullptr ? context->first_ : previous->next) = next;
  (next == nullptr ? context->last_ : next->previous) = previous;
}

void release_state(TensorState* state) {
  TraceContext* const context = state->context;
  state->~TensorState();
  if (context != nullptr) {
    context->free_states_.push_back(state);
  } else {
    ::operator delete(state);
  }
}

TraceContext& Tensor::context() const {
  LS_USER_CHECK(state().context != nullptr, "a tensor was used after its session had ended");
  return *state().context;
}

namespace {

/// A read from its beginning to its end, for who is told.
class ObservedRead {
 public:
  ObservedRead(ReadObserver* observer, const Tensor& tensor, const std::source_location& where)
      : observer_(observer) {
    if (observer_ != nullptr) observer_->begin_read(tensor, where);
  }
  ~ObservedRead() {
    if (observer_ != nullptr) observer_->end_read();
  }
  ObservedRead(const ObservedRead&) = delete;
  ObservedRead& operator=(const ObservedRead&) = delete;

 private:
  ReadObserver* observer_;
};

}  // namespace

HostTensor Tensor::to_host(std::source_location where) const {
  TraceContext& trace = context();  // with it goes the device that has the value
  LS_USER_CHECK(
      !mode_of(trace).forbids_reads,
      "{}: a tensor's value was read inside the loss, which would cut the step in two; "
      "return the tensor as a metric or an output of the loss, and read it after the step",
      trace.origin_at(where).to_string());
  const ObservedRead read(trace.read_observer(), *this, where);
  if (state().value == nullptr) trace.sync(SyncReason::kValueRead, where);
  LS_USER_CHECK(state().value != nullptr,
                "{}: a {} tensor was read that was recorded in a step which has been discarded",
                trace.origin_at(where).to_string(), type().to_string());
  return state().value->to_host();
}

double Tensor::item(std::source_location where) const {
  LS_USER_CHECK(shape().elements() == 1, "item() needs one element, but the tensor is {}",
                type().to_string());
  return to_doubles(to_host(where))[0];
}

void Tensor::assign(const Tensor& value, std::source_location where) {
  TensorState& s = state();
  LS_USER_CHECK(value.type() == s.type, "{}: cannot assign {} to a tensor of {}",
                context().origin_at(where).to_string(), value.type().to_string(),
                s.type.to_string());
  const ValueId node = context().node_of(value);
  const ValueId old = context().node_of(*this);
  if (context().pending()[old].op == Op::kInput && s.assigned_from == kNoValue)
    s.assigned_from = old;
  s.node = node;
  s.value = nullptr;
}

void Tensor::raise_undefined() {
  raise(ErrorKind::kUsage, "an undefined tensor was used");
}

}  // namespace lockstep
