// The description of a recorded graph, before passes, with which later graphs are compared:
// everything except the contents of large constants, in about 100 bytes a node, with its own
// strings. It outlives the program that was made of the graph.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/hash.h"
#include "core/ir/graph.h"

namespace lockstep {

/// The scope of what a step's update records; within it each parameter's has the parameter's name.
inline constexpr std::string_view kUpdateScope = "optimizer_step";

/// Where in the user's program a trace was cut.
struct CutSite {
  std::string reason;    ///< "step end", "value read"; empty: nothing was cut yet
  std::string line;      ///< "main.cpp:41"; empty if unknown
  bool by_read = false;  ///< by a read of a value
  friend bool operator==(const CutSite&, const CutSite&) = default;
};

/// The data of a recorded graph besides its nodes.
struct CutContext {
  CutSite begin;  ///< the cut before
  CutSite end;
  std::string mode;               ///< "training, bf16"; empty if none was set
  std::size_t recorded = 0;       ///< nodes, with those that no output needs; 0: unknown
  std::vector<std::string> held;  ///< who holds each output: a variable's name, "2 handles"
  /// What data loaders pad, fields of batches and their dimensions: "batch.tokens[length]".
  std::set<std::string> padded = {};
  /// For each of its modes, "training, bf16", the line that opened the last scope of it.
  std::map<std::string, std::string> mode_lines = {};
};

class GraphDescriptor {
 public:
  struct Node {
    Op op = Op::kInput;
    DType dtype = DType::kF32;
    std::uint8_t rank = 0;
    InputKind kind = InputKind::kState;
    bool argument = false;  ///< an input of a called graph, not of this one
    bool gradient = false;  ///< recorded by gradients()
    std::uint8_t mode = 0;  ///< the mode's number; 0: recorded outside of every ModeScope
    std::uint16_t operands = 0;
    std::uint32_t origin = 0;  ///< into the origins
    std::uint32_t first_operand = 0;
    std::uint32_t first_word = 0;  ///< sizes, then attributes
    std::uint32_t words = 0;       ///< of attributes
    std::int32_t extra = -1;       ///< of an input or a constant: into inputs, literals
  };
  struct Input {
    std::string name;  ///< may be empty
    std::vector<std::string> dimensions;
  };
  struct Literal {
    Hash128 digest;              ///< of dtype, shape and bytes
    std::vector<double> values;  ///< of a small one
    HostTensor table = {};       ///< of a larger one, unless it is large
  };
  static constexpr std::int64_t kSmallLiteral = 8;                      ///< elements
  static constexpr std::size_t kLargeLiteral = std::size_t{64} * 1024;  ///< bytes

  /// `dropped`: what was recorded beside the graph's nodes.
  GraphDescriptor(const Graph& graph, CutContext context, std::span<const DroppedOp> dropped = {});

  const CutContext& context() const { return context_; }
  const Hash128& structure() const { return structure_; }  ///< structural_hash of the graph
  ValueId size() const { return static_cast<ValueId>(nodes_.size()); }
  const Node& operator[](ValueId id) const { return nodes_[static_cast<std::size_t>(id)]; }
  std::span<const ValueId> operands(ValueId id) const;
  std::span<const std::int64_t> sizes(ValueId id) const;
  Attrs::Entries attrs(ValueId id) const { return Attrs::Entries(attr_words(id)); }
  std::span<const std::int64_t> attr_words(ValueId id) const;
  const Input& input(ValueId id) const;      ///< of a kInput that is no argument
  const Literal& literal(ValueId id) const;  ///< of a kConstant
  const std::string& scope(ValueId id) const;
  const std::string& line(ValueId id) const;  ///< "model.cpp:41"; empty if unknown
  std::string place(ValueId id) const;        ///< "model.cpp:41 (h.3)"; empty if unknown
  std::string type(ValueId id) const;         ///< "f32[8,64]"
  bool is_input(ValueId id) const;            ///< of this graph, not of a called one
  /// Whether lockstep itself recorded it for the step's update of parameters (not a buffer's rule).
  bool is_update(ValueId id) const;
  bool same_type(ValueId id, const GraphDescriptor& other, ValueId theirs) const;

  std::span<const ValueId> inputs() const { return inputs_; }
  std::span<const ValueId> outputs() const { return outputs_; }
  std::span<const Update> updates() const { return updates_; }
  /// Hashes of op, scope, line and an input's name: they stay equal if only sizes and numbers
  /// change.
  std::span<const std::uint64_t> labels() const { return labels_; }
  /// The same of what was recorded and no output needs, in any order.
  std::span<const std::uint64_t> dropped_labels() const { return dropped_labels_; }

  std::size_t bytes() const;  ///< of memory, approximately

 private:
  struct Place {
    std::string line;
    std::string scope;
  };
  class Builder;

  CutContext context_;
  Hash128 structure_;
  std::vector<Node> nodes_;
  std::vector<ValueId> operands_;
  std::vector<std::int64_t> words_;
  std::vector<std::uint64_t> labels_;
  std::vector<std::uint64_t> dropped_labels_;
  std::vector<Place> places_;
  std::vector<Input> input_facts_;
  std::vector<Literal> literals_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
  std::vector<Update> updates_;
};

/// Node by node the same op, operands, scope and line, and no input in the place of another: only
/// sizes, numbers, inputs' kinds, names that are new to the other graph, and outputs may differ.
bool same_skeleton(const GraphDescriptor& a, const GraphDescriptor& b);

/// The same ops with the same operands, from any lines and scopes.
bool same_ops(const GraphDescriptor& a, const GraphDescriptor& b);

/// The part of the smaller graph that is also in the other one, by labels: 0 to 1.
double likeness(const GraphDescriptor& a, const GraphDescriptor& b);

}  // namespace lockstep
