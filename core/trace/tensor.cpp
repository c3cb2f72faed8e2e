#include "core/trace/tensor.h"

#include <boost/container/small_vector.hpp>
#include <new>

#include "core/base/error.h"
#include "core/trace/context.h"
#include "core/trace/cut_trace.h"
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

TraceContext& Tensor::context(std::source_location where) const {
  TensorState& s = state(where);
  LS_USER_CHECK(s.context != nullptr, "a tensor was used after its session had ended");
  LS_USER_CHECK(!s.context->is_on_device_thread(),
                "{}: a {} tensor was used inside a function that the device calls, and which it "
                "waits for: pass the tensor to host_call() as an operand",
                origin_of(where).to_string(), s.type.to_string());
  return *s.context;
}

namespace {

constexpr const char* kHowUndefined =
    "it was default-constructed or moved from, and nothing was assigned to it since";

/// Notifies the observer of the begin and the end of a read.
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
  TraceContext& trace = context(where);  // the device that has the value lives no longer than it
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
  LS_USER_CHECK(shape(where).elements() == 1, "item() needs one element, but the tensor is {}",
                type().to_string());
  return to_doubles(to_host(where))[0];
}

void Tensor::assign(const Tensor& value, std::source_location where) {
  const TraceContext& trace = context_of("assign", {this, &value}, where);
  TensorState& s = state();
  LS_USER_CHECK(value.type() == s.type, "{}: cannot assign {} to a tensor of {}",
                trace.origin_at(where).to_string(), value.type().to_string(), s.type.to_string());
  const ValueId node = context().node_of(value);
  const ValueId old = context().node_of(*this);
  if (context().pending()[old].op == Op::kInput && s.assigned_from == kNoValue)
    s.assigned_from = old;
  s.node = node;
  s.value = nullptr;
}

void Tensor::raise_undefined(const std::source_location& where) {
  raise(ErrorKind::kUsage, "{}: an undefined tensor was used: {}", origin_of(where).to_string(),
        kHowUndefined);
}

void raise_undefined(std::string_view what, const Origin& line) {
  raise(ErrorKind::kUsage, "{}: {} is an undefined tensor: {}", line.to_string(), what,
        kHowUndefined);
}

void raise_undefined_operand(std::string_view call, std::size_t operand, std::size_t operands,
                             const Origin& line) {
  raise_undefined(operands == 1
                      ? fmt::format("the operand of {}", call)
                      : fmt::format("operand {} of the {} of {}", operand + 1, operands, call),
                  line);
}

TraceContext& context_of(std::string_view call, ArrayRef<const Tensor*> operands,
                         const std::source_location& where) {
  const Tensor* known = nullptr;
  std::size_t undefined = operands.size();
  for (std::size_t i = operands.size(); i-- > 0;) {
    if (operands[i] == nullptr) continue;
    if (operands[i]->defined()) {
      known = operands[i];
    } else {
      undefined = i;
    }
  }
  if (undefined == operands.size()) return known->context(where);
  raise_undefined_operand(
      call, undefined, operands.size(),
      known == nullptr ? origin_of(where) : known->context(where).origin_at(where));
}

TraceContext& context_of_all(std::string_view call, std::span<const Tensor> operands,
                             const std::source_location& where) {
  boost::container::small_vector<const Tensor*, 4> pointers;
  for (const Tensor& operand : operands) pointers.push_back(&operand);
  return context_of(call, pointers, where);
}

}  // namespace lockstep
