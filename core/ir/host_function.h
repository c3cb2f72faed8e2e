// Functions on the host as ops (Op::kHostCall): for what cannot be compiled, such as Hungarian
// matching, non-maximum suppression or an augmentation of one's own.
//
//   const HostFunction match("match_boxes", 1, [](std::span<const HostTensor> in,
//                                                 std::span<HostTensor> out) { ... });
//   Tensor assigned = host_call(match, {costs, targets}, Type{DType::kI32, Shape{8, 4}});
//
// The contract of a function:
//   - Its results depend on its operands alone. So runs agree in every bit, equal calls are made
//     once, and one whose results nobody reads is not made. Randomness comes in as an operand.
//   - What it does has a version. Name and version are structure: compiled programs, also those
//     kept on disk, are found by them and never by the code. Who changes what a function makes of
//     its operands raises the version.
//   - It is called on the device's thread, one at a time: by the shard program for each logical
//     shard in order, by the update program once, by both if both read its results; again if a
//     step is searched for what is not finite. It touches no tensors of the trace, which wait for
//     it; what it captures outlives the engine. It has no gradient; see stop_gradient().
// Operands are copied from the device's memory and results to it. The arithmetic is IEEE's,
// denormals included, on whichever thread it runs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "core/base/api.h"
#include "core/ir/graph.h"

namespace LOCKSTEP_API lockstep {

/// A handle: copies are the same function.
class HostFunction {
 public:
  /// `results` are zeros of the types that the call states; to write them or to put others of those
  /// types in their place is the function's to choose. An exception is the error of the step.
  using Body =
      std::function<void(std::span<const HostTensor> operands, std::span<HostTensor> results)>;

  /// Error kUsage for an empty name, one of more than 200 bytes, or a version outside [1, 2^20].
  /// What captures nothing may be made anew for every call. What captures is made once and kept:
  /// another one, though of the same line, may have captured something else.
  template <class Function>
  HostFunction(std::string name, std::int64_t version, Function function)
      : state_(std::make_shared<const State>(
            State{std::move(name), version, code_of(function), function})) {
    check();
  }

  const std::string& name() const { return state_->name; }
  std::int64_t version() const { return state_->version; }
  /// "match_boxes version 1".
  std::string to_string() const;

  /// What the function makes of a call's operands. Error with origin and name of the call if the
  /// function throws (its kind; kUsage for what is no Error) or if a result is not of its type.
  std::vector<HostTensor> call(const Node& node, std::span<const HostTensor> operands) const;

  friend bool operator==(const HostFunction& a, const HostFunction& b);

 private:
  /// What runs, if that is known: the type of what has no state, or a function's address.
  struct Code {
    const std::type_info* type = nullptr;
    const void* address = nullptr;
  };
  struct State {
    std::string name;
    std::int64_t version;
    Code code;
    Body body;
  };

  template <class Function>
  static Code code_of(const Function& function) {
    if constexpr (std::is_pointer_v<Function>) {
      return {&typeid(Function), reinterpret_cast<const void*>(function)};
    } else if constexpr (std::is_empty_v<Function>) {
      return {&typeid(Function), nullptr};
    } else {
      return {};
    }
  }
  void check() const;

  std::shared_ptr<const State> state_;
};

/// The functions that programs may call, by name and version. A trace registers what it calls; a
/// program that comes from elsewhere (the text form, the disk) needs them registered.
class HostFunctions {
 public:
  /// Error kUsage if another function has this name and version.
  void add(const HostFunction& function);
  /// The one that a host_call names. Error kUsage that names it, its line and what is registered.
  const HostFunction& find(const Node& host_call) const;

 private:
  std::map<std::pair<std::string, std::int64_t>, HostFunction> functions_;
};

/// Error kUsage, see find(), unless all that the graph calls, in bodies too, is registered.
void require_host_functions(const Graph& graph, const HostFunctions& functions);

}  // namespace lockstep
