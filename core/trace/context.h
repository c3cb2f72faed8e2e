// TraceContext: the graph being recorded, the live tensors that refer to it, and the names (source
// line, module path, random stream) that new nodes get. Used by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <source_location>
#include <span>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/base/api.h"
#include "core/ir/graph.h"
#include "core/ir/host_function.h"
#include "core/trace/filled.h"
#include "core/trace/mode_place.h"
#include "core/trace/remat_region.h"
#include "core/trace/tensor.h"

namespace LOCKSTEP_API lockstep {

class ReadObserver;
enum class SyncReason : std::uint8_t;
struct CutTrace;
struct Mode;

/// The graph being recorded. Tensors of one context can be operands together.
class TraceContext {
 public:
  TraceContext();
  ~TraceContext();
  TraceContext(const TraceContext&) = delete;
  TraceContext& operator=(const TraceContext&) = delete;

  /// A tensor for a value that exists (parameters, state, batches).
  Tensor tensor(TensorValuePtr value, InputKind kind, std::string_view name);
  /// An input of one number: changing it between steps never recompiles, and two equal scalars
  /// never merge.
  Tensor scalar(double value, DType dtype, std::string_view name);
  /// Structure: a different constant is a different graph.
  /// @{
  Tensor constant(HostTensor literal, std::source_location where = std::source_location::current());
  Tensor constant(double value, DType dtype,
                  std::source_location where = std::source_location::current());
  /// @}

  /// A constant in every place of `type`. Recorded once in a trace, where it was first needed:
  /// optimizers use the same numbers for every parameter.
  Tensor filled(double value, const Type& type,
                std::source_location where = std::source_location::current());

  /// Records op(operands){attrs}. Error kUsage if the operands do not fit, naming line and scope.
  Tensor record(Op op, ArrayRef<Tensor> operands, Attrs attrs,
                std::source_location where = std::source_location::current());
  /// Records a call of `body` (one output), whose inputs are the operands in order.
  Tensor record_call(std::shared_ptr<const Graph> body, std::span<const Tensor> operands,
                     std::source_location where = std::source_location::current());
  /// Records a host_call with these attributes: a tensor for each of its results.
  std::vector<Tensor> record_host_call(Attrs attrs, std::span<const Tensor> operands);

  bool has_pending() const;                          ///< whether a live tensor is not computed yet
  std::string_view scope() const { return scope_; }  ///< the module path of new nodes
  /// The mode of the innermost ModeScope (mode.h); null outside of every scope.
  const Mode* mode() const { return mode_; }

  // For lockstep itself.
  /// Takes the pending graph, reduced to what live tensors need; recording starts anew.
  CutTrace cut();
  /// Drops everything recorded since the last cut, with the assignments. Using a dropped tensor is
  /// an error.
  void discard();
  HostFunctions& host_functions() { return host_functions_; }  ///< that steps may call
  /// Cuts and runs the trace when a pending value is read; gets the line of the read. Without a
  /// handler, reading is an error.
  using SyncHandler = std::function<void(SyncReason, const std::source_location&)>;
  void set_sync_handler(SyncHandler handler) { sync_ = std::move(handler); }
  void sync(SyncReason reason, const std::source_location& where);
  /// See reads.h. Null: no observer. Returns the previous observer.
  ReadObserver* set_read_observer(ReadObserver* observer);
  ReadObserver* read_observer() const { return reads_; }
  /// The id of the random stream of the next draw here: module path and ordinal within it.
  /// Ordinals start again at every cut, so that equal steps are equal graphs.
  std::int64_t next_stream();
  /// The line and module path that a node recorded by a call at `where` gets: the line of the open
  /// LocationScope, if there is one.
  Origin origin_at(const std::source_location& where) const;
  Origin origin() const { return origin_at({}); }  ///< those of the open LocationScope
  void set_mode(const Mode* mode);
  void note_mode_place(const std::source_location& where);
  /// While a user's call records a whole step: its line. See CallerScope (origin_scope.h).
  const std::optional<std::source_location>& caller() const { return caller_; }
  void set_caller(std::optional<std::source_location> where) { caller_ = where; }
  /// Tensors cannot be used on this thread, the device's: it would wait for itself. Default: none.
  void set_device_thread(std::thread::id thread) { device_thread_ = thread; }
  bool is_on_device_thread() const { return std::this_thread::get_id() == device_thread_; }

  const Graph& pending() const { return graph_; }
  ValueId node_of(const Tensor& tensor);  ///< in the pending graph; adds an input if needed
  Tensor tensor_of(ValueId id);           ///< a handle to a pending node
  /// New nodes get this origin instead of their call's; null ends this. Returns the previous one.
  const Origin* set_origin(const Origin* origin);
  /// Until the next cut, the gradient of pending node `from` goes to the earlier node `to` instead
  /// of its operands; nowhere if `to` is kNoValue.
  void redirect_gradient(ValueId from, ValueId to) { redirected_.emplace(from, to); }
  const std::map<ValueId, ValueId>& redirected_gradients() const { return redirected_; }
  /// Holds until the next cut. Regions inside this one become parts of it.
  void recompute(RematRegion region);
  const std::vector<RematRegion>& recomputed() const { return recomputed_; }
  /// Notes, until the next cut, a node that is the mean of a reduction's operand.
  void note_mean(const Tensor& mean) { means_.push_back(node_of(mean)); }
  std::span<const ValueId> means() const { return means_; }  ///< ascending
  std::uint64_t epoch() const { return epoch_; }             ///< the number of cuts plus one

 private:
  friend struct TensorState;
  friend void release_state(TensorState* state);
  friend class LocationScope;
  friend class ModuleScope;
  TensorStatePtr new_state(const Type& type);
  Tensor handle_for(ValueId id);

  Graph graph_;
  std::vector<TensorValuePtr> input_values_;
  std::map<const TensorValue*, ValueId> input_nodes_;
  std::unordered_map<Filled, ValueId, FilledHasher> filled_;
  std::uint64_t epoch_ = 1;
  TensorState* first_ = nullptr;
  TensorState* last_ = nullptr;
  /// Memory for states: a step makes thousands, of which hundreds live at a time.
  std::vector<void*> free_states_;
  SyncHandler sync_;
  ReadObserver* reads_ = nullptr;
  std::thread::id device_thread_;
  HostFunctions host_functions_;
  std::shared_ptr<StringPool> strings_;
  std::string_view scope_;
  std::optional<std::source_location> location_;
  std::optional<std::source_location> caller_;
  mutable const char* path_ = nullptr;  ///< the last one whose folders were removed
  mutable std::string_view file_;
  const Origin* origin_ = nullptr;
  const Mode* mode_ = nullptr;
  std::uint8_t mode_number_ = 0;  ///< of the current mode
  std::uint32_t modes_ = 0;       ///< of everything recorded since the last cut
  std::map<std::string_view, std::uint64_t> draws_;
  std::map<ValueId, ValueId> redirected_;
  std::vector<RematRegion> recomputed_;  ///< in the order of the trace, disjoint
  std::vector<ValueId> means_;
  std::vector<ModePlace> mode_places_;
};

/// While alive, every recorded node and every error shows the line `where` instead of its own,
/// unless an outer scope is open: the outermost call, which is the user's, counts. A function of
/// lockstep takes its caller's line as a default argument and opens a scope with it; the code
/// inside passes no lines. Users do the same to show the callers' lines for their own functions:
///
///     Tensor swish(const Tensor& x, Where where = Where::current()) {
///       const LocationScope line("swish", {&x}, where);
///       return x * sigmoid(x);
///     }
class LocationScope {
 public:
  LocationScope(TraceContext& context, const std::source_location& where);  ///< in this trace
  /// Opens the scope in the trace of the operands of `call`, see context_of().
  LocationScope(std::string_view call, ArrayRef<const Tensor*> operands,
                const std::source_location& where)
      : LocationScope(context_of(call, operands, where), where) {}
  ~LocationScope();
  LocationScope(const LocationScope&) = delete;
  LocationScope& operator=(const LocationScope&) = delete;

 private:
  TraceContext& context_;
  bool outermost_;
};

/// While alive, new nodes belong to module path `outer.name`; to `name` alone if that is a path at
/// or below the outer one. With `where` it is a LocationScope, too: for a model's call of a layer.
class ModuleScope {
 public:
  ModuleScope(TraceContext& context, std::string_view name);  ///< in this trace
  /// The same, and a LocationScope.
  ModuleScope(TraceContext& context, std::string_view name, const std::source_location& where);
  ~ModuleScope();
  ModuleScope(const ModuleScope&) = delete;
  ModuleScope& operator=(const ModuleScope&) = delete;

 private:
  TraceContext& context_;
  std::string_view previous_scope_;
  std::optional<LocationScope> line_;
};

}  // namespace lockstep
