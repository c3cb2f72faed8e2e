// Functions on the host as ops (Op::kHostCall): for code that cannot be compiled, such as Hungarian
// matching, non-maximum suppression or a user's augmentation.
//
//   const HostFunction match("match_boxes", 1, [](std::span<const HostTensor> in,
//                                                 std::span<HostTensor> out) { ... });
//   Tensor assigned = host_call(match, {costs, targets}, Type{DType::kI32, Shape{8, 4}});
//
// The contract of a function:
//   - Its results depend on its operands alone. So runs agree in every bit, equal calls are made
//     once, and a call whose results are not used is not made. Random numbers are an operand.
//   - It has a version. Name and version are structure: compiled programs, also those kept on disk,
//     are found by them and never by the code. If you change the results of a function, raise its
//     version.
//   - It is called on the device's thread, one at a time: by the gradient program for each
//     micro-batch in order, by the update program once, by both if both read its results; again if
//     a step is searched for values that are not finite. It must not use tensors of the trace,
//     which wait for it (an error kUsage that names the line); its captures must outlive the
//     engine. It has no gradient; see stop_gradient().
//
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

/// A function on the host with its name and version. A handle: copies are the same function.
class HostFunction {
 public:
  /// `results` are zeros of the types that the call states. The function writes them, or replaces
  /// them by tensors of the same types. An exception becomes the error of the step.
  using Body =
      std::function<void(std::span<const HostTensor> operands, std::span<HostTensor> results)>;

  /// Error kUsage for an empty name, one of more than 200 bytes, or a version outside [1, 2^20]. A
  /// function without captures may be constructed again for every call. A function with captures is
  /// constructed once and kept: another one, even from the same line, may have captured other
  /// values.
  template <class Function>
  HostFunction(std::string name, std::int64_t version, Function function)
      : state_(std::make_shared<const State>(
            State{std::move(name), version, code_of(function), function})) {
    check();
  }

  const std::string& name() const { return state_->name; }  ///< by which calls find it
  std::int64_t version() const { return state_->version; }  ///< of its results
  /// "match_boxes version 1".
  std::string to_string() const;

  /// The function's results for a call's operands. Error with origin and name of the call if the
  /// function throws (the kind of its Error; kUsage for other exceptions) or if a result has a
  /// wrong type.
  std::vector<HostTensor> call(const Node& node, std::span<const HostTensor> operands) const;

  /// Whether name, version and code are the same; see the constructor for functions with captures.
  friend bool operator==(const HostFunction& a, const HostFunction& b);

 private:
  /// Identifies the code, if possible: the type of a function object without state, or the address
  /// of a function.
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

/// The functions that programs may call, by name and version. A trace registers the functions it
/// calls; for a program from elsewhere (the text form, the disk) they must be registered.
class HostFunctions {
 public:
  /// Error kUsage if another function has this name and version.
  void add(const HostFunction& function);
  /// The function that a host_call names. If there is none: error kUsage that names it, its line
  /// and the registered functions.
  const HostFunction& find(const Node& host_call) const;

 private:
  std::map<std::pair<std::string, std::int64_t>, HostFunction> functions_;
};

/// Error kUsage, see find(), unless all functions that the graph and its bodies call are
/// registered.
void require_host_functions(const Graph& graph, const HostFunctions& functions);

}  // namespace lockstep
