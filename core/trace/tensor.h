// Tensor: a cheap handle to a node of the graph being recorded, or to a value that was computed
// before. Operations (ops.h) record nodes and infer shapes at once; nothing runs until the trace is
// cut (mark_step, or reading a value).
#pragma once

#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string_view>
#include <utility>

#include "core/base/api.h"
#include "core/base/array_ref.h"
#include "core/ir/graph.h"
#include "core/trace/value.h"

namespace LOCKSTEP_API lockstep {

class TraceContext;

/// A default argument of this type is the line of the call.
using Where = std::source_location;

/// The shared state of all copies of one handle. Belongs to its TraceContext, which keeps the live
/// ones in a list ordered by creation. Counted without atomics: a context is used by one thread,
/// and recording an op copies its operands several times.
struct TensorState {
  TensorState(TraceContext& context, Type type);  ///< enters the context's list of live states
  ~TensorState();
  TensorState(const TensorState&) = delete;
  TensorState& operator=(const TensorState&) = delete;

  TraceContext* context;  ///< null once the context is gone
  Type type;              ///< dtype and shape
  /// The node in the pending graph, if `epoch` is the context's current one.
  ValueId node = kNoValue;
  std::uint64_t epoch = 0;  ///< TraceContext::epoch() when `node` was recorded
  /// The computed value; null until the tensor is computed.
  TensorValuePtr value;
  InputKind input_kind = InputKind::kState;  ///< what it is as an input of the next graph
  std::string_view name;                     ///< of an input; owned by the context
  /// The pending input that an assign() replaced; kNoValue if none.
  ValueId assigned_from = kNoValue;

  /// The neighbours in the context's list; null at its ends.
  TensorState* previous = nullptr;
  TensorState* next = nullptr;  ///< see `previous`
  std::uint32_t handles = 0;    ///< TensorStatePtrs to it
};

/// The last handle is gone: gives the state's memory back to the context.
void release_state(TensorState* state);

/// A counted pointer to a state.
class TensorStatePtr {
 public:
  TensorStatePtr() = default;
  /// Counts one more handle, unless null.
  explicit TensorStatePtr(TensorState* state) noexcept : state_(state) {
    if (state_ != nullptr) ++state_->handles;
  }
  /// Counts one more handle.
  TensorStatePtr(const TensorStatePtr& other) noexcept : TensorStatePtr(other.state_) {}
  /// Leaves `other` null.
  TensorStatePtr(TensorStatePtr&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  /// Releases the old state if this was its last handle.
  TensorStatePtr& operator=(TensorStatePtr other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~TensorStatePtr() {
    if (state_ != nullptr && --state_->handles == 0) release_state(state_);
  }

  TensorState* get() const { return state_; }         ///< null for none
  TensorState& operator*() const { return *state_; }  ///< the state; there must be one
  TensorState* operator->() const { return state_; }  ///< likewise
  friend bool operator==(const TensorStatePtr&, const TensorStatePtr&) = default;

 private:
  TensorState* state_ = nullptr;
};

/// A handle to a node of the graph being recorded, or to a value that was computed before. Copies
/// stand for the same value. Operators and functions of ops.h record nodes and infer shapes at
/// once; to_host() and item() wait for the value.
class Tensor {
 public:
  Tensor() = default;                                                  ///< undefined
  explicit Tensor(TensorStatePtr state) : state_(std::move(state)) {}  ///< a handle to this state

  /// False for a tensor that is default-constructed or moved from: every other use of it is an
  /// error kUsage with the line.
  bool defined() const { return state_.get() != nullptr; }
  /// The element type; known before the value is computed.
  DType dtype(std::source_location where = std::source_location::current()) const {
    return state(where).type.dtype;
  }
  /// The dimensions; known before the value is computed.
  const Shape& shape(std::source_location where = std::source_location::current()) const {
    return state(where).type.shape;
  }
  /// Dtype and shape.
  const Type& type(std::source_location where = std::source_location::current()) const {
    return state(where).type;
  }
  /// Error kUsage if the context is gone, or in a function of host_call().
  TraceContext& context(std::source_location where = std::source_location::current()) const;
  /// The size of a dimension; negative: counted from the end. Error kUsage if out of range.
  std::int64_t size(int dim, std::source_location where = std::source_location::current()) const {
    return shape(where)[dim];
  }

  /// Waits for the value; cuts the trace first (reason: value read) if it is not computed yet.
  /// Error kUsage inside a step's loss (mode.h), with the line.
  HostTensor to_host(std::source_location where = std::source_location::current()) const;
  /// The only element as a double. Error kUsage if there is not exactly one.
  double item(std::source_location where = std::source_location::current()) const;

  /// Makes this handle and all its copies stand for `value` from now on, as a variable does. The
  /// old value's memory is donated to the new one if nothing else holds it. Error kUsage if dtype
  /// or shape differ.
  void assign(const Tensor& value, std::source_location where = std::source_location::current());

  /// The state. Error kUsage with the line if undefined.
  TensorState& state(std::source_location where = std::source_location::current()) const {
    if (state_.get() == nullptr) raise_undefined(where);
    return *state_;
  }
  const TensorStatePtr& handle() const { return state_; }  ///< null if undefined

 private:
  [[noreturn]] static void raise_undefined(const std::source_location& where);

  TensorStatePtr state_;
};

/// An operand as written in user code: a tensor, or a number that becomes a constant of the other
/// operand's dtype. It is constructed at the call and so stores the user's line, which operators
/// could not get; of two operands the left one's line counts. It may hold an undefined tensor,
/// which is not a number.
class Operand {
 public:
  /// A tensor, which may be undefined.
  Operand(const Tensor& tensor,  // NOLINT(google-explicit-constructor)
          std::source_location where = std::source_location::current())
      : tensor_(tensor), where_(where) {}
  /// A number, without a dtype of its own.
  Operand(double number,  // NOLINT(google-explicit-constructor)
          std::source_location where = std::source_location::current())
      : number_(number), is_number_(true), where_(where) {}

  bool is_number() const { return is_number_; }     ///< whether it is a number
  double number() const { return number_; }         ///< the number; 0 for a tensor
  const Tensor& tensor() const { return tensor_; }  ///< the tensor; undefined for a number
  const std::source_location& where() const { return where_; }  ///< the line of the call

 private:
  Tensor tensor_;
  double number_ = 0;
  bool is_number_ = false;
  std::source_location where_;
};

/// The trace of a call's operands, of which at least one is a tensor; null stands for an operand
/// that is not a tensor, or is left out. Error kUsage with the line for an undefined tensor. Every
/// function of tensors begins with this call, or with a LocationScope, which makes it.
TraceContext& context_of(std::string_view call, ArrayRef<const Tensor*> operands,
                         const std::source_location& where);
/// The same for a list of tensors, of which none may be undefined.
TraceContext& context_of_all(std::string_view call, std::span<const Tensor> operands,
                             const std::source_location& where);

/// "LINE: WHAT is an undefined tensor: ..."
[[noreturn]] void raise_undefined(std::string_view what, const Origin& line);
/// The same for operand number `operand`, from 0, of the `operands` of a call.
[[noreturn]] void raise_undefined_operand(std::string_view call, std::size_t operand,
                                          std::size_t operands, const Origin& line);

}  // namespace lockstep
