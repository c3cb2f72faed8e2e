#include "core/explain/descriptor.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/ir/structure.h"

namespace lockstep {
namespace {

std::uint64_t hash_text(std::string_view text) {
  return hash128(text.data(), text.size()).low;
}

bool is_update_place(std::string_view line, std::string_view scope, const CutContext& context) {
  return scope.starts_with(kUpdateScope) && line == context.end.line;
}

GraphDescriptor::Literal describe_literal(const HostTensor& literal) {
  Hasher hash;
  hash.value(literal.dtype());
  for (const std::int64_t size : literal.shape().sizes()) hash.value(size);
  hash.value(hash128(literal.bytes().data(), literal.bytes().size()));
  GraphDescriptor::Literal out{.digest = hash.finish(), .values = {}};
  if (literal.shape().elements() <= GraphDescriptor::kSmallLiteral)
    out.values = to_doubles(literal);
  else if (literal.bytes().size() <= GraphDescriptor::kLargeLiteral)
    out.table = literal;
  return out;
}

}  // namespace

/// Called graphs are expanded before their calls; their outputs are further operands of the calls.
class GraphDescriptor::Builder {
 public:
  explicit Builder(GraphDescriptor& to) : to_(to) {}

  /// Returns the ids of the graph's values in the descriptor.
  std::vector<ValueId> add(const Graph& graph, bool called) {
    std::vector<ValueId> ids;
    ids.reserve(graph.nodes.size());
    for (const lockstep::Node& node : graph.nodes) {
      std::vector<ValueId> operands;
      for (const ValueId operand : node.operands)
        operands.push_back(ids[static_cast<std::size_t>(operand)]);
      if (node.body != nullptr) {
        const std::vector<ValueId> body = add(*node.body, true);
        for (const ValueId output : node.body->outputs)
          operands.push_back(body[static_cast<std::size_t>(output)]);
      }
      ids.push_back(add_node(node, operands, called));
    }
    return ids;
  }

  void add_dropped(std::span<const DroppedOp> dropped) {
    to_.dropped_labels_.reserve(dropped.size());
    for (const auto& [op, origin] : dropped)
      to_.dropped_labels_.push_back(label_of(op, labels_[place_of(origin)], "", origin.gradient));
  }

 private:
  static std::uint64_t label_of(Op op, std::uint64_t place, std::string_view name, bool gradient) {
    return hash64({static_cast<std::uint64_t>(op.number()), place,
                   name.empty() ? 0 : hash_text(name), static_cast<std::uint64_t>(gradient)});
  }

  ValueId add_node(const lockstep::Node& node, std::span<const ValueId> operands, bool called) {
    Node out;
    out.op = node.op;
    out.dtype = node.type.dtype;
    out.rank = static_cast<std::uint8_t>(node.type.shape.rank());
    out.kind = node.input_kind;
    out.argument = called && node.op == Op::kInput;
    out.gradient = node.origin.gradient;
    out.mode = node.origin.mode;
    out.operands = static_cast<std::uint16_t>(operands.size());
    out.origin = place_of(node.origin);
    out.first_operand = static_cast<std::uint32_t>(to_.operands_.size());
    out.first_word = static_cast<std::uint32_t>(to_.words_.size());
    out.words = static_cast<std::uint32_t>(node.attrs.words().size());
    const auto sizes = node.type.shape.sizes();
    to_.words_.insert(to_.words_.end(), sizes.begin(), sizes.end());
    to_.words_.insert(to_.words_.end(), node.attrs.words().begin(), node.attrs.words().end());
    to_.operands_.insert(to_.operands_.end(), operands.begin(), operands.end());
    if (node.op == Op::kInput && !called) out.extra = add_input(node);
    if (node.op == Op::kConstant) {
      out.extra = static_cast<std::int32_t>(to_.literals_.size());
      to_.literals_.push_back(describe_literal(node.literal));
    }
    to_.labels_.push_back(label_of(node.op, labels_[out.origin],
                                   node.op == Op::kInput ? node.name : "", out.gradient));
    to_.nodes_.push_back(out);
    return to_.size() - 1;
  }

  std::int32_t add_input(const lockstep::Node& node) {
    Input input{std::string(node.name), {}};
    for (int i = 0; i < node.type.shape.rank(); ++i) {
      const char* name = node.type.shape.dim(i).name;
      input.dimensions.emplace_back(name == nullptr ? "" : name);
    }
    to_.input_facts_.push_back(std::move(input));
    return static_cast<std::int32_t>(to_.input_facts_.size()) - 1;
  }

  std::uint32_t place_of(const Origin& origin) {
    // Views of one pool: neighbours mostly share both, so that few texts are made.
    const std::pair key{std::pair{origin.file.data(), origin.line}, origin.scope.data()};
    if (!to_.places_.empty() && key == last_) return last_place_;
    std::string line = origin.file.empty() ? "" : fmt::format("{}:{}", origin.file, origin.line);
    // Two calls of step() may make one update.
    const bool update = is_update_place(line, origin.scope, to_.context_);
    const std::uint64_t label =
        hash64({hash_text(update ? std::string_view() : line), hash_text(origin.scope)});
    const auto [found, inserted] =
        by_label_.try_emplace(label, static_cast<std::uint32_t>(to_.places_.size()));
    if (inserted) {
      to_.places_.push_back({std::move(line), std::string(origin.scope)});
      labels_.push_back(label);
    }
    last_ = key;
    last_place_ = found->second;
    return last_place_;
  }

  GraphDescriptor& to_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_label_;
  std::vector<std::uint64_t> labels_;  ///< of the places
  std::pair<std::pair<const char*, std::uint32_t>, const char*> last_{};
  std::uint32_t last_place_ = 0;
};

GraphDescriptor::GraphDescriptor(const Graph& graph, CutContext context,
                                 std::span<const DroppedOp> dropped)
    : context_(std::move(context)), structure_(structural_hash(graph)), updates_(graph.updates) {
  nodes_.reserve(graph.nodes.size());
  labels_.reserve(graph.nodes.size());
  Builder builder(*this);
  const std::vector<ValueId> ids = builder.add(graph, false);
  builder.add_dropped(dropped);
  const auto here = [&](ValueId id) { return ids[static_cast<std::size_t>(id)]; };
  for (const ValueId input : graph.inputs) inputs_.push_back(here(input));
  for (const ValueId output : graph.outputs) outputs_.push_back(here(output));
}

std::span<const ValueId> GraphDescriptor::operands(ValueId id) const {
  const Node& node = (*this)[id];
  return std::span(operands_).subspan(node.first_operand, node.operands);
}

std::span<const std::int64_t> GraphDescriptor::sizes(ValueId id) const {
  const Node& node = (*this)[id];
  return std::span(words_).subspan(node.first_word, node.rank);
}

std::span<const std::int64_t> GraphDescriptor::attr_words(ValueId id) const {
  const Node& node = (*this)[id];
  return std::span(words_).subspan(node.first_word + node.rank, node.words);
}

const GraphDescriptor::Input& GraphDescriptor::input(ValueId id) const {
  return input_facts_[static_cast<std::size_t>((*this)[id].extra)];
}

const GraphDescriptor::Literal& GraphDescriptor::literal(ValueId id) const {
  return literals_[static_cast<std::size_t>((*this)[id].extra)];
}

const std::string& GraphDescriptor::scope(ValueId id) const {
  return places_[(*this)[id].origin].scope;
}

const std::string& GraphDescriptor::line(ValueId id) const {
  return places_[(*this)[id].origin].line;
}

std::string GraphDescriptor::place(ValueId id) const {
  const Place& place = places_[(*this)[id].origin];
  if (place.line.empty()) return "";
  return place.scope.empty() ? place.line : fmt::format("{} ({})", place.line, place.scope);
}

bool GraphDescriptor::is_update(ValueId id) const {
  return is_update_place(line(id), scope(id), context_);
}

std::string GraphDescriptor::type(ValueId id) const {
  return std::string(name_of((*this)[id].dtype)) +
         Shape(ArrayRef<std::int64_t>(sizes(id))).to_string();
}

bool GraphDescriptor::is_input(ValueId id) const {
  return (*this)[id].op == Op::kInput && !(*this)[id].argument;
}

bool GraphDescriptor::same_type(ValueId id, const GraphDescriptor& other, ValueId theirs) const {
  return (*this)[id].dtype == other[theirs].dtype &&
         std::ranges::equal(sizes(id), other.sizes(theirs));
}

std::size_t GraphDescriptor::bytes() const {
  std::size_t out =
      sizeof *this + nodes_.capacity() * sizeof(Node) + operands_.capacity() * sizeof(ValueId) +
      (words_.capacity() + labels_.capacity() + dropped_labels_.capacity()) * sizeof(std::int64_t) +
      (inputs_.size() + outputs_.size()) * (sizeof(ValueId) + sizeof(Update));
  for (const Place& place : places_) out += sizeof place + place.line.size() + place.scope.size();
  for (const Input& input : input_facts_)
    out += sizeof input + input.name.size() + input.dimensions.size() * sizeof(std::string);
  for (const Literal& literal : literals_)
    out +=
        sizeof literal + literal.values.capacity() * sizeof(double) + literal.table.bytes().size();
  for (const std::string& held : context_.held) out += sizeof(std::string) + held.size();
  for (const std::string& padded : context_.padded) out += sizeof(std::string) + padded.size();
  return out;
}

namespace {

bool has_input(const GraphDescriptor& graph, const std::string& name) {
  return !name.empty() && std::ranges::any_of(graph.inputs(), [&](ValueId id) {
    return graph.input(id).name == name;
  });
}

/// Whether inputs in one place of two graphs are one, perhaps named anew in each step: not if the
/// other graph has one of the name elsewhere, or both names and types differ.
bool may_stand_for(const GraphDescriptor& a, const GraphDescriptor& b, ValueId id) {
  const std::string& x = a.input(id).name;
  const std::string& y = b.input(id).name;
  if (x == y) return true;
  const bool alike = x.empty() || y.empty() || (a.same_type(id, b, id) && a[id].kind == b[id].kind);
  return alike && !has_input(a, y) && !has_input(b, x);
}

}  // namespace

bool same_skeleton(const GraphDescriptor& a, const GraphDescriptor& b) {
  if (a.size() != b.size()) return false;
  for (ValueId id = 0; id < a.size(); ++id) {
    if (a[id].op != b[id].op || a[id].argument != b[id].argument ||
        !std::ranges::equal(a.operands(id), b.operands(id)))
      return false;
    // An input's scope is its name.
    if (a.is_input(id) && !may_stand_for(a, b, id)) return false;
    if (a[id].op == Op::kInput) continue;
    const bool updates = a.is_update(id) && b.is_update(id);
    if ((a.line(id) != b.line(id) && !updates) || a.scope(id) != b.scope(id)) return false;
  }
  return true;
}

bool same_ops(const GraphDescriptor& a, const GraphDescriptor& b) {
  if (a.size() != b.size()) return false;
  for (ValueId id = 0; id < a.size(); ++id)
    if (a[id].op != b[id].op || a[id].argument != b[id].argument ||
        !std::ranges::equal(a.operands(id), b.operands(id)))
      return false;
  return true;
}

double likeness(const GraphDescriptor& a, const GraphDescriptor& b) {
  std::vector<std::uint64_t> x(a.labels().begin(), a.labels().end());
  std::vector<std::uint64_t> y(b.labels().begin(), b.labels().end());
  if (x.empty() || y.empty()) return 0;
  std::ranges::sort(x);
  std::ranges::sort(y);
  std::size_t common = 0;
  for (std::size_t i = 0, j = 0; i < x.size() && j < y.size();) {
    if (x[i] == y[j]) {
      ++common;
      ++i;
      ++j;
    } else {
      x[i] < y[j] ? ++i : ++j;
    }
  }
  return static_cast<double>(common) / static_cast<double>(std::min(x.size(), y.size()));
}

}  // namespace lockstep
