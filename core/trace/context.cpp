#include "core/trace/context.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "core/base/error.h"
#include "core/base/rng.h"
#include "core/ir/group.h"
#include "core/ir/infer.h"
#include "core/trace/cut_trace.h"
#include "core/trace/late_leaves.h"
#include "core/trace/mode.h"

namespace lockstep {

TraceContext::TraceContext() : strings_(std::make_shared<StringPool>()) {
  graph_.strings = strings_;
}

TraceContext::~TraceContext() {
  // Tensors that outlive their context can no longer be used, but may be destroyed.
  for (TensorState* state = first_; state != nullptr; state = state->next) state->context = nullptr;
  for (void* memory : free_states_) ::operator delete(memory);
}

Tensor TraceContext::tensor(TensorValuePtr value, InputKind kind, std::string_view name) {
  const TensorStatePtr state = new_state(value->type());
  state->value = std::move(value);
  state->input_kind = kind;
  state->name = strings_->intern(name);
  return Tensor(state);
}

Tensor TraceContext::scalar(double value, DType dtype, std::string_view name) {
  const HostTensor literal = from_doubles(dtype, Shape{}, std::span(&value, 1));
  return tensor(std::make_shared<HostScalar>(literal), InputKind::kScalar, name);
}

Tensor TraceContext::constant(HostTensor literal, std::source_location where) {
  return handle_for(graph_.add_constant(std::move(literal), origin_at(where)));
}

Tensor TraceContext::constant(double value, DType dtype, std::source_location where) {
  return filled(value, {dtype, Shape{}}, where);
}

Tensor TraceContext::filled(double value, const Type& type, std::source_location where) {
  // Numbers that are equal in the dtype share one constant.
  if (type.dtype == DType::kF32) value = static_cast<double>(static_cast<float>(value));
  const auto [found, is_new] =
      filled_.try_emplace({std::bit_cast<std::uint64_t>(value), type}, kNoValue);
  ValueId& id = found->second;
  if (is_new && type.shape.rank() == 0) {
    const HostTensor literal = from_doubles(type.dtype, type.shape, std::span(&value, 1));
    id = graph_.add_constant(literal, origin_at(where));
  } else if (is_new) {
    const ValueId number = node_of(constant(value, type.dtype, where));
    id = graph_.add(Op::kBroadcast, {number},
                    {{Attr::kShape, type.shape.sizes()}, {Attr::kDims, {}}}, origin_at(where));
  }
  return handle_for(id);
}

std::size_t FilledHasher::operator()(const Filled& filled) const {
  constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15;  // odd, of 2^64 / golden ratio
  std::uint64_t out = filled.bits ^ static_cast<std::uint64_t>(filled.type.dtype);
  for (const std::int64_t size : filled.type.shape.sizes())
    out = std::rotl(out * kFactor, 29) ^ static_cast<std::uint64_t>(size);
  return out * kFactor >> 32U;
}

Tensor TraceContext::record(Op op, ArrayRef<Tensor> operands, Attrs attrs,
                            std::source_location where) {
  const Origin origin = origin_at(where);
  Operands ids;
  for (const Tensor& operand : operands) {
    if (!operand.defined())
      raise_undefined_operand(name_of(op), ids.size(), operands.size(), origin);
    ids.push_back(node_of(operand));
  }
  modes_ |= mode_bit(mode_number_);
  try {
    return handle_for(graph_.add(op, ids, std::move(attrs), origin));
  } catch (const Error& e) {
    throw Error(e.kind(), fmt::format("{}: {}", origin.to_string(), e.what()));
  }
}

Tensor TraceContext::record_call(std::shared_ptr<const Graph> body,
                                 std::span<const Tensor> operands, std::source_location where) {
  Node node;
  node.op = Op::kCall;
  node.origin = origin_at(where);
  LS_USER_CHECK(body->outputs.size() == 1, "{}: a called graph must have one output, not {}",
                node.origin.to_string(), body->outputs.size());
  LS_USER_CHECK(body->inputs.size() == operands.size(),
                "{}: the called graph takes {} operands, but {} are given", node.origin.to_string(),
                body->inputs.size(), operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].defined()) raise_undefined_operand("call", i, operands.size(), node.origin);
    const Type& wanted = (*body)[body->inputs[i]].type;
    LS_USER_CHECK(operands[i].type() == wanted, "{}: operand {} of the call is {}, not {}",
                  node.origin.to_string(), i, operands[i].type().to_string(), wanted.to_string());
    node.operands.push_back(node_of(operands[i]));
  }
  node.type = (*body)[body->outputs[0]].type;
  node.body = std::move(body);
  return handle_for(graph_.append(std::move(node)));
}

std::vector<Tensor> TraceContext::record_host_call(Attrs attrs, std::span<const Tensor> operands) {
  std::vector<Tensor> out = {record(Op::kHostCall, operands, std::move(attrs))};
  const ValueId call = node_of(out[0]);
  for (std::size_t k = 1; k < result_count(graph_[call]); ++k) {
    Node node;
    node.op = Op::kGroupResult;
    node.type = result_type(graph_[call], k);
    node.operands = {call};
    node.attrs = {{Attr::kIndex, {static_cast<std::int64_t>(k)}}};
    node.origin = graph_[call].origin;
    out.push_back(handle_for(graph_.append(std::move(node))));
  }
  return out;
}

CutTrace TraceContext::cut() {
  CutTrace out;
  std::map<ValueId, std::int32_t> open_inputs;  // an input has one next value at most
  for (std::size_t i = 0; i < graph_.inputs.size(); ++i)
    open_inputs.emplace(graph_.inputs[i], static_cast<std::int32_t>(i));
  for (TensorState* state = first_; state != nullptr; state = state->next) {
    if (state->value != nullptr || state->epoch != epoch_) continue;
    const auto number = static_cast<std::int32_t>(out.outputs.size());
    out.outputs.push_back(state);
    graph_.outputs.push_back(state->node);
    const auto replaced = open_inputs.find(state->assigned_from);
    if (replaced == open_inputs.end()) continue;
    graph_.updates.push_back({number, replaced->second});
    open_inputs.erase(replaced);
  }
  std::vector<bool> reachable = find_reachable(graph_);
  if (const std::vector<std::size_t> places = move_late_leaves(graph_, reachable);
      !places.empty()) {
    std::vector<TensorValuePtr> values;
    values.reserve(places.size());
    for (const std::size_t place : places) values.push_back(std::move(input_values_[place]));
    input_values_ = std::move(values);
  }
  for (std::size_t i = 0; i < graph_.inputs.size(); ++i)
    if (reachable[static_cast<std::size_t>(graph_.inputs[i])])
      out.inputs.push_back(std::move(input_values_[i]));
  const std::size_t recorded = graph_.nodes.size();
  out.recorded = recorded;
  out.dropped = dropped_ops(graph_, reachable);
  out.modes = std::exchange(modes_, 0);
  out.mode_places = mode_places_;
  out.graph = keep_only(std::exchange(graph_, {}), reachable);

  graph_.strings = strings_;
  graph_.nodes.reserve(recorded);  // the next step is usually as long
  input_values_.clear();
  input_nodes_.clear();
  filled_.clear();
  draws_.clear();
  redirected_.clear();
  recomputed_.clear();
  means_.clear();
  ++epoch_;
  for (TensorState* state : out.outputs) state->assigned_from = kNoValue;
  return out;
}

void TraceContext::discard() {
  std::map<ValueId, std::size_t> inputs;
  for (std::size_t i = 0; i < graph_.inputs.size(); ++i) inputs.emplace(graph_.inputs[i], i);
  for (TensorState* state = first_; state != nullptr; state = state->next) {
    if (state->value != nullptr || state->epoch != epoch_) continue;
    const auto old = inputs.find(std::exchange(state->assigned_from, kNoValue));
    if (old != inputs.end()) state->value = input_values_[old->second];
  }
  cut();
}

bool TraceContext::has_pending() const {
  for (TensorState* state = first_; state != nullptr; state = state->next)
    if (state->value == nullptr && state->epoch == epoch_) return true;
  return false;
}

void TraceContext::sync(SyncReason reason, const std::source_location& where) {
  LS_USER_CHECK(sync_ != nullptr, "a pending tensor was read, but no engine runs this trace");
  sync_(reason, where);
}

ReadObserver* TraceContext::set_read_observer(ReadObserver* observer) {
  return std::exchange(reads_, observer);
}

void TraceContext::set_mode(const Mode* mode) {
  mode_ = mode;
  mode_number_ = mode == nullptr ? 0 : mode_number(*mode);
}

void TraceContext::note_mode_place(const std::source_location& where) {
  // A place in the standard library, as of std::optional<ModeScope>::emplace(), leads nowhere.
  if (std::string_view(where.file_name()).find("/c++/") != std::string_view::npos) return;
  const auto known = std::ranges::find(mode_places_, mode_number_, &ModePlace::number);
  if (known != mode_places_.end()) {
    known->where = where;
  } else {
    mode_places_.push_back({mode_number_, where});
  }
}

std::int64_t TraceContext::next_stream() {
  return static_cast<std::int64_t>(rng_stream(scope_, draws_[scope_]++));
}

ValueId TraceContext::node_of(const Tensor& tensor) {
  TensorState& state = tensor.state();
  LS_USER_CHECK(state.context == this, "tensors of two trace contexts were mixed");
  if (state.epoch == epoch_) return state.node;
  LS_USER_CHECK(state.value != nullptr,
                "a {} tensor was used that was recorded in a step which has been discarded",
                state.type.to_string());
  // Handles that share a value share its input, but scalars never merge: each has its own value.
  const auto [it, inserted] = input_nodes_.try_emplace(state.value.get(), graph_.size());
  if (inserted) {
    Origin origin;
    origin.scope = state.name;
    graph_.add_input(state.type, state.input_kind, state.name, origin);
    input_values_.push_back(state.value);
  }
  state.node = it->second;
  state.epoch = epoch_;
  return state.node;
}

void TraceContext::recompute(RematRegion region) {
  while (!recomputed_.empty() && recomputed_.back().begin >= region.begin) recomputed_.pop_back();
  recomputed_.push_back(std::move(region));
}

Tensor TraceContext::tensor_of(ValueId id) {
  return handle_for(id);
}

const Origin* TraceContext::set_origin(const Origin* origin) {
  return std::exchange(origin_, origin);
}

Origin TraceContext::origin_at(const std::source_location& where) const {
  if (origin_ != nullptr) return *origin_;
  const std::source_location& place = location_ ? *location_ : where;
  if (place.file_name() != path_) {
    path_ = place.file_name();
    file_ = origin_of(place).file;
  }
  return {file_, place.line(), scope_, false, mode_number_};
}

TensorStatePtr TraceContext::new_state(const Type& type) {
  void* memory = nullptr;
  if (free_states_.empty()) {
    memory = ::operator new(sizeof(TensorState));
  } else {
    memory = free_states_.back();
    free_states_.pop_back();
  }
  return TensorStatePtr(new (memory) TensorState(*this, type));
}

Tensor TraceContext::handle_for(ValueId id) {
  TensorStatePtr state = new_state(graph_[id].type);
  state->node = id;
  state->epoch = epoch_;
  return Tensor(std::move(state));
}

LocationScope::LocationScope(TraceContext& context, const std::source_location& where)
    : context_(context), outermost_(!context.location_) {
  if (outermost_) context.location_ = where;
}

LocationScope::~LocationScope() {
  if (outermost_) context_.location_.reset();
}

ModuleScope::ModuleScope(TraceContext& context, std::string_view name)
    : context_(context), previous_scope_(context.scope_) {
  const bool whole = previous_scope_.empty() || name == previous_scope_ ||
                     (name.starts_with(previous_scope_) && name[previous_scope_.size()] == '.');
  context.scope_ = whole ? context.strings_->intern(name)
                         : context.strings_->intern(fmt::format("{}.{}", previous_scope_, name));
}

ModuleScope::ModuleScope(TraceContext& context, std::string_view name,
                         const std::source_location& where)
    : ModuleScope(context, name) {
  line_.emplace(context, where);
}

ModuleScope::~ModuleScope() {
  context_.scope_ = previous_scope_;
}

}  // namespace lockstep
