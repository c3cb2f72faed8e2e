// A graph: nodes in an order in which every operand comes before its users. Values are named by
// their position. A pass takes a graph and returns a new one; nodes are never edited in place.
//
// Structure is ops, dtypes, shapes, operands, attributes, literals, input kinds, outputs and
// updates. Names and origins are labels for messages: hash and equality ignore them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/base/api.h"
#include "core/base/array_ref.h"
#include "core/base/buffer.h"
#include "core/base/dtype.h"
#include "core/base/shape.h"
#include "core/base/small_vector.h"
#include "core/ir/attrs.h"
#include "core/ir/op.h"
#include "core/ir/type.h"

namespace LOCKSTEP_API lockstep {

struct Graph;
using ValueId = std::int32_t;            ///< the position of a value's node in its graph
inline constexpr ValueId kNoValue = -1;  ///< stands for no value
/// Where a table with an entry for each value has that of `id`.
inline std::size_t index_of(ValueId id) {
  return static_cast<std::size_t>(id);
}
/// Most nodes have at most four: no allocation.
using Operands = SmallVector<ValueId, 4>;

/// Where a node comes from: the user's source line and the module path ("h.3.attn"). The views are
/// static or owned by the graph's StringPool.
struct Origin {
  std::string_view file;   ///< without folders: "model.cpp"
  std::uint32_t line = 0;  ///< from 1; 0: unknown
  std::string_view scope;  ///< the module path
  /// True for a node that gradients() recorded for the line.
  bool gradient = false;
  /// In which mode it was recorded: ModePlace::number (mode_place.h); 0 outside of every ModeScope.
  std::uint8_t mode = 0;
  std::string to_string() const;  ///< "model.cpp:41 (h.3.attn)"
};

/// The meaning of an input. It is structure: users of a batch input belong to the gradient
/// program.
enum class InputKind : std::uint8_t {
  kParameter,  ///< trained; gradients exist
  kState,   ///< optimizer slots, running statistics, other values that stay on the device between
            ///< steps
  kBatch,   ///< one value per micro-batch: batch tensors and the micro-batch index
  kScalar,  ///< a host number given at each execution: learning rate, step, seed
};
std::string_view name_of(InputKind kind);  ///< "parameter", "state", "batch", "scalar"
/// The inverse of name_of; nothing for an unknown name.
std::optional<InputKind> parse_input_kind(std::string_view name);

/// An op with its operands and the type of its result.
struct Node {
  Op op = Op::kInput;                        ///< what it computes
  Type type;                                 ///< of the result
  Operands operands;                         ///< values of earlier nodes, in the op's order
  Attrs attrs;                               ///< the op's attributes
  HostTensor literal;                        ///< kConstant only
  std::shared_ptr<const Graph> body;         ///< kCall, kFusion only
  InputKind input_kind = InputKind::kState;  ///< kInput only
  std::string_view name;                     ///< kInput: "batch.tokens", "wte.weight"; a label
  Origin origin;                             ///< where it comes from, for messages
};

/// Owns strings for as long as any graph that refers to them lives. Not thread-safe.
class StringPool {
 public:
  /// A view of an equal text that lives as long as the pool.
  std::string_view intern(std::string_view text);

 private:
  std::deque<std::string> storage_;
  std::unordered_set<std::string_view> index_;
};

/// "Output number `output` is the next value of input number `input`": the planner may give it the
/// input's memory.
struct Update {
  std::int32_t output = 0;  ///< index in Graph::outputs
  std::int32_t input = 0;   ///< index in Graph::inputs
  friend bool operator==(const Update&, const Update&) = default;
};

/// A program: nodes, what goes in and what comes out.
struct Graph {
  std::vector<Node> nodes;       ///< operands before their users
  std::vector<ValueId> inputs;   ///< the kInput nodes in parameter order
  std::vector<ValueId> outputs;  ///< may repeat a value, may be an input
  std::vector<Update> updates;   ///< which outputs replace which inputs
  /// Holds the names of nodes and origins.
  std::shared_ptr<StringPool> strings = std::make_shared<StringPool>();

  /// The node of a value.
  const Node& operator[](ValueId id) const { return nodes[static_cast<std::size_t>(id)]; }
  ValueId size() const { return static_cast<ValueId>(nodes.size()); }  ///< number of nodes

  /// Appends a node unchanged, with its type; an input is appended to `inputs` too.
  ValueId append(Node node);
  /// Appends an op whose type is inferred (infer.h). Error kUsage if the operands do not fit.
  ValueId add(Op op, ArrayRef<ValueId> operands, Attrs attrs = {}, Origin origin = {});
  /// Appends an input with a name.
  ValueId add_input(Type type, InputKind kind, std::string_view name, Origin origin = {});
  /// Appends a constant of the literal's type.
  ValueId add_constant(HostTensor literal, Origin origin = {});
};

/// Number of users of each value, outputs counted as users.
std::vector<int> count_users(const Graph& graph);

/// True for every value that an output depends on, and for all results of its group.
std::vector<bool> find_reachable(const Graph& graph);

/// The marked values in their order, renumbered; inputs that are not marked are dropped. All
/// operands and outputs of marked values must be marked. Takes the graph's nodes: move it in.
Graph keep_only(Graph graph, const std::vector<bool>& keep);

/// An op that was recorded and is left out of the graph, because no output needs it.
struct DroppedOp {
  Op op;          ///< what was recorded
  Origin origin;  ///< and where
};
/// What keep_only() drops but inputs, with the nodes of called graphs.
std::vector<DroppedOp> dropped_ops(const Graph& graph, const std::vector<bool>& keep);

}  // namespace lockstep
