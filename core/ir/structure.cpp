#include "core/ir/structure.h"

#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>

namespace lockstep {
namespace {

/// Appends fixed-size words and length-prefixed lists, so that no two structures share their bytes.
/// Every recorded step is written once. Most of it is words, which cost a comparison and a store
/// each.
class Writer {
 public:
  explicit Writer(std::size_t nodes) { grow(nodes * kBytesPerNode); }

  void word(std::uint64_t value) {
    if (size_ - used_ < sizeof value) grow(sizeof value);
    std::memcpy(bytes_.get() + used_, &value, sizeof value);
    used_ += sizeof value;
  }
  /// Few: as many stores, no call.
  void words(std::span<const std::int64_t> values) {
    for (const std::int64_t value : values) word(static_cast<std::uint64_t>(value));
  }
  void raw(const void* data, std::size_t size) {
    if (size == 0) return;
    if (size_ - used_ < size) grow(size);
    std::memcpy(bytes_.get() + used_, data, size);
    used_ += size;
  }
  void hash(const Hash128& h) {
    word(h.low);
    word(h.high);
  }
  void type(const Type& type) {
    word(static_cast<std::uint64_t>(type.dtype) << 8U |
         static_cast<std::uint64_t>(type.shape.rank()));
    words(type.shape.sizes());
  }
  void attrs(const Attrs& attrs) {
    word(attrs.words().size());
    words(attrs.words());
  }
  Hash128 finish() const { return hash128(bytes_.get(), used_); }
  std::string text() const { return {bytes_.get(), used_}; }
  void clear() { used_ = 0; }

 private:
  static constexpr std::size_t kBytesPerNode = 128;

  void grow(std::size_t by) {
    size_ = 2 * size_ + by;
    auto larger = std::make_unique_for_overwrite<char[]>(size_);
    if (used_ > 0) std::memcpy(larger.get(), bytes_.get(), used_);
    bytes_ = std::move(larger);
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
  std::size_t used_ = 0;
};

/// Bodies are shared between nodes (a layer called twelve times): hash each once.
using BodyHashes = std::unordered_map<const Graph*, Hash128>;

void write_graph(const Graph& graph, Writer& out, BodyHashes* bodies);

Hash128 hash_graph(const Graph& graph, BodyHashes& bodies) {
  Writer out(graph.nodes.size());
  write_graph(graph, out, &bodies);
  return out.finish();
}

Hash128 hash_body(const Graph& body, BodyHashes& bodies) {
  const auto found = bodies.find(&body);
  if (found != bodies.end()) return found->second;
  const Hash128 hash = hash_graph(body, bodies);
  bodies.emplace(&body, hash);
  return hash;
}

/// A body's hash, or without `bodies` the whole body.
void write_body(const Graph& body, Writer& out, BodyHashes* bodies) {
  if (bodies == nullptr) {
    write_graph(body, out, nullptr);
  } else {
    out.hash(hash_body(body, *bodies));
  }
}

/// The whole node except its operands.
void write_node(const Node& node, Writer& out, BodyHashes* bodies) {
  out.word(static_cast<std::uint64_t>(node.op.number()) |
           static_cast<std::uint64_t>(node.input_kind) << 8U |
           static_cast<std::uint64_t>(node.operands.size()) << 16U);
  out.type(node.type);
  out.attrs(node.attrs);
  if (node.op == Op::kConstant) {
    const auto bytes = node.literal.bytes();
    out.word(bytes.size());
    out.raw(bytes.data(), bytes.size());
  }
  out.word(node.body != nullptr ? 1 : 0);
  if (node.body != nullptr) write_body(*node.body, out, bodies);
}

void write_graph(const Graph& graph, Writer& out, BodyHashes* bodies) {
  out.word(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    write_node(node, out, bodies);
    out.raw(node.operands.data(), node.operands.size() * sizeof(ValueId));
  }
  out.word(graph.inputs.size());
  out.raw(graph.inputs.data(), graph.inputs.size() * sizeof(ValueId));
  out.word(graph.outputs.size());
  out.raw(graph.outputs.data(), graph.outputs.size() * sizeof(ValueId));
  out.word(graph.updates.size());
  for (const Update& update : graph.updates) {
    out.word(static_cast<std::uint64_t>(update.output));
    out.word(static_cast<std::uint64_t>(update.input));
  }
}

bool same_bytes(const HostTensor& a, const HostTensor& b) {
  const auto x = a.bytes();
  const auto y = b.bytes();
  return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size()) == 0);
}

bool same_body(const Node& a, const Node& b) {
  if (a.body == b.body) return true;
  return a.body != nullptr && b.body != nullptr && structurally_equal(*a.body, *b.body);
}

bool same_node(const Node& a, const Node& b) {
  return a.op == b.op && a.input_kind == b.input_kind && a.type == b.type &&
         a.operands == b.operands && a.attrs == b.attrs &&
         (a.op != Op::kConstant || same_bytes(a.literal, b.literal)) && same_body(a, b);
}

}  // namespace

Hash128 structural_hash(const Graph& graph) {
  BodyHashes bodies;
  return hash_graph(graph, bodies);
}

std::string structure_bytes(const Graph& graph) {
  Writer out(graph.nodes.size());
  write_graph(graph, out, nullptr);
  return out.text();
}

bool structurally_equal(const Graph& a, const Graph& b) {
  if (&a == &b) return true;
  if (a.nodes.size() != b.nodes.size() || a.inputs != b.inputs || a.outputs != b.outputs ||
      a.updates != b.updates)
    return false;
  for (std::size_t i = 0; i < a.nodes.size(); ++i)
    if (!same_node(a.nodes[i], b.nodes[i])) return false;
  return true;
}

std::vector<Hash128> node_hashes(const Graph& graph) {
  std::vector<std::uint64_t> input_number(graph.nodes.size(), 0);
  for (std::size_t i = 0; i < graph.inputs.size(); ++i)
    input_number[static_cast<std::size_t>(graph.inputs[i])] = i;
  std::vector<Hash128> out;
  out.reserve(graph.nodes.size());
  BodyHashes bodies;
  Writer bytes(4);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    bytes.clear();
    write_node(node, bytes, &bodies);
    if (node.op == Op::kInput) bytes.word(input_number[i]);
    for (const ValueId operand : node.operands) bytes.hash(out[static_cast<std::size_t>(operand)]);
    out.push_back(bytes.finish());
  }
  return out;
}

Hash128 computation_hash(const Node& node) {
  Writer out(2);
  BodyHashes bodies;
  write_node(node, out, &bodies);
  out.raw(node.operands.data(), node.operands.size() * sizeof(ValueId));
  return out.finish();
}

bool same_computation(const Node& a, const Node& b) {
  return a.op != Op::kInput && same_node(a, b);
}

}  // namespace lockstep
