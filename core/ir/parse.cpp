// Recursive descent over the grammar in text.h; scanner.h reads the characters.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <string>
#include <unordered_map>

#include "core/base/error.h"
#include "core/base/suggest.h"
#include "core/ir/group.h"
#include "core/ir/infer.h"
#include "core/ir/literal_text.h"
#include "core/ir/scanner.h"
#include "core/ir/signature.h"
#include "core/ir/text.h"
#include "core/ir/type_list.h"

namespace lockstep {
namespace {

// Bounds under which no size computation of the inference can overflow.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;
constexpr std::int64_t kMaxSmall = std::int64_t{1} << 20;

template <std::size_t N>
std::string suggestion(std::string_view word, const std::array<std::string_view, N>& known) {
  return did_you_mean(nearest_word(word, known));
}

class Parser {
 public:
  Parser(std::string_view text, std::string_view file, std::optional<int> ranks)
      : scan_(text, file), ranks_(ranks) {}

  Graph whole() {
    Graph out = graph(0, std::make_shared<StringPool>());
    if (!scan_.at_end()) scan_.fail_expected("an update or the end of the text");
    return out;
  }

 private:
  using Names = std::unordered_map<std::string_view, ValueId>;

  Graph graph(int depth, std::shared_ptr<StringPool> strings) {
    Graph out;
    out.strings = std::move(strings);
    Names names;
    while (scan_.accept('%')) node(out, names, depth);
    const std::size_t start = scan_.position();
    for (ValueId id = 0; id < out.size(); ++id) {
      const std::string wrong = find_result_error(out, id);
      if (!wrong.empty()) scan_.fail(start, "%{}: {}", id, wrong);
    }
    if (scan_.accept_word("inputs")) {
      std::vector<ValueId> order = values(names);
      std::vector<ValueId> sorted = order;
      std::sort(sorted.begin(), sorted.end());
      if (sorted != out.inputs) scan_.fail(start, "'inputs' must name every input once");
      out.inputs = std::move(order);
    }
    if (!scan_.accept_word("return")) scan_.fail_expected("a node '%...' or 'return'");
    out.outputs = values(names);
    while (scan_.accept_word("update")) update(out, names);
    return out;
  }

  void node(Graph& graph, Names& names, int depth) {
    const std::size_t name_at = scan_.position();
    const std::string_view name = scan_.word("the value's name");
    scan_.expect('=', "'='");
    const std::size_t type_at = scan_.position();
    Node node;
    node.type = type();
    const std::size_t op_at = scan_.position();
    node.op = op();
    scan_.expect('(', "'('");
    const std::vector<ValueId> operands = values(names);
    node.operands.assign(operands.begin(), operands.end());
    scan_.expect(')', "',' or ')'");
    literal_at_ = std::string_view::npos;
    if (scan_.accept('{')) settings(node, *graph.strings);
    if (node.op == Op::kConstant && literal_at_ == std::string_view::npos)
      scan_.fail(op_at, "constant needs the setting 'value'");
    const std::string wrong = check_attrs(node.op, node.attrs);
    if (!wrong.empty()) scan_.fail(op_at, "{}", wrong);
    if (node.op == Op::kCall || node.op == Op::kFusion) body(graph, node, depth);
    check_type(graph, node, type_at, op_at);
    check_ranks(node, op_at);
    if (!names.emplace(name, graph.size()).second)
      scan_.fail(name_at, "%{} is defined twice", name);
    graph.append(std::move(node));
  }

  void check_type(const Graph& graph, const Node& node, std::size_t type_at, std::size_t op_at) {
    if (node.op == Op::kInput || node.op == Op::kConstant) {
      if (!node.operands.empty()) scan_.fail(op_at, "{} takes no operands", name_of(node.op));
      return;
    }
    // A group_result states its type: graph() compares it with the group's after all nodes are
    // read.
    if (node.body != nullptr || node.op == Op::kGroupResult) return;
    std::vector<Type> types;
    for (const ValueId operand : node.operands) types.push_back(graph[operand].type);
    Type inferred;
    try {
      inferred = infer_type(node.op, types, node.attrs);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUsage) throw;
      scan_.fail(op_at, "{}", error.what());
    }
    if (inferred != node.type)
      scan_.fail(type_at, "the type is written as {}, but {} gives {}", node.type.to_string(),
                 name_of(node.op), inferred.to_string());
  }

  void check_ranks(const Node& node, std::size_t op_at) {
    if (!ranks_) return;
    const std::string_view many = *ranks_ == 1 ? "rank takes" : "ranks take";
    if (node.attrs.has(Attr::kRanks) && node.attrs.integer(Attr::kRanks) != *ranks_)
      scan_.fail(op_at, "{} is for {} ranks, but {} {} part here", name_of(node.op),
                 node.attrs.integer(Attr::kRanks), *ranks_, many);
    if (node.attrs.has(Attr::kRoot) && node.attrs.integer(Attr::kRoot) >= *ranks_)
      scan_.fail(op_at, "{} is from rank {}, but {} {} part here", name_of(node.op),
                 node.attrs.integer(Attr::kRoot), *ranks_, many);
  }

  void body(const Graph& outer, Node& node, int depth) {
    const std::size_t start = scan_.position();
    if (!scan_.accept_word("body")) scan_.fail_expected("'body'");
    if (depth == kMaxBodyDepth) scan_.fail(start, "bodies nest deeper than {}", kMaxBodyDepth);
    scan_.expect('{', "'{'");
    auto inner = std::make_shared<const Graph>(graph(depth + 1, outer.strings));
    scan_.expect('}', "'}'");
    const bool group = node.op == Op::kFusion;
    if (group ? inner->outputs.empty() : inner->outputs.size() != 1)
      scan_.fail(start, "a body returns {}", group ? "at least one value" : "one value");
    if (!inner->updates.empty()) scan_.fail(start, "a body has no updates");
    const Type& result = (*inner)[inner->outputs[0]].type;
    if (result != node.type)
      scan_.fail(start, "the body returns {}, but the type is written as {}", result.to_string(),
                 node.type.to_string());
    if (inner->inputs.size() != node.operands.size())
      scan_.fail(start, "the body has {} inputs, but {} operands are given", inner->inputs.size(),
                 node.operands.size());
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      const Type& given = outer[node.operands[i]].type;
      const Type& wanted = (*inner)[inner->inputs[i]].type;
      if (given != wanted)
        scan_.fail(start, "input {} of the body is {}, but operand {} is {}", i, wanted.to_string(),
                   i, given.to_string());
    }
    node.body = std::move(inner);
    if (!group) return;
    const std::string wrong = find_group_error(node);
    if (!wrong.empty()) scan_.fail(start, "{}", wrong);
  }

  void update(Graph& graph, const Names& names) {
    const std::size_t start = scan_.position();
    const std::int64_t output = scan_.integer("an output's number");
    if (output < 0 || output >= static_cast<std::int64_t>(graph.outputs.size()))
      scan_.fail(start, "there is no output {}", output);
    if (!scan_.accept('-') || !scan_.accept('>')) scan_.fail_expected("'->'");
    const std::size_t input_at = scan_.position();
    const ValueId input = value(names);
    const auto found = std::find(graph.inputs.begin(), graph.inputs.end(), input);
    if (found == graph.inputs.end()) scan_.fail(input_at, "an update's target must be an input");
    const auto target = static_cast<std::int32_t>(found - graph.inputs.begin());
    for (const Update& other : graph.updates) {
      if (other.output == output)
        scan_.fail(start, "output {} updates two inputs; return the value twice", output);
      if (other.input == target) scan_.fail(input_at, "this input is updated twice");
    }
    const Type& from = graph[graph.outputs[static_cast<std::size_t>(output)]].type;
    if (from != graph[input].type)
      scan_.fail(start, "output {} is {}, but the input it updates is {}", output, from.to_string(),
                 graph[input].type.to_string());
    graph.updates.push_back({static_cast<std::int32_t>(output), target});
  }

  ValueId value(const Names& names) {
    const std::size_t start = scan_.position();
    scan_.expect('%', "a value '%...'");
    const std::string_view name = scan_.word("the value's name");
    const auto found = names.find(name);
    if (found == names.end()) scan_.fail(start, "%{} is not defined before its use", name);
    return found->second;
  }

  /// Zero or more values.
  std::vector<ValueId> values(const Names& names) {
    std::vector<ValueId> out;
    if (!scan_.next_is('%')) return out;
    do out.push_back(value(names));
    while (scan_.accept(','));
    return out;
  }

  Op op() {
    const std::size_t start = scan_.position();
    const std::string_view name = scan_.word("an op");
    const std::optional<Op> found = parse_op(name);
    if (found) return *found;
    std::array<std::string_view, kOpCount> known;
    std::ranges::transform(op_table(), known.begin(), &OpInfo::name);
    scan_.fail(start, "unknown op '{}'{}", name, suggestion(name, known));
  }

  DType dtype() {
    const std::size_t start = scan_.position();
    const std::string_view name = scan_.word("a dtype");
    const std::optional<DType> found = parse_dtype(name);
    if (found) return *found;
    constexpr std::array<std::string_view, 8> kKnown = {"f32", "bf16", "f16", "f64",
                                                        "i32", "i64",  "u8",  "bool"};
    scan_.fail(start, "unknown dtype '{}'{}", name, suggestion(name, kKnown));
  }

  Type type() {
    Type out;
    out.dtype = dtype();
    const std::size_t start = scan_.position();
    const std::vector<std::int64_t> sizes = integers();
    check_shape(sizes, start);
    out.shape = Shape(sizes);
    return out;
  }

  std::vector<Type> types() {
    std::vector<Type> out;
    scan_.expect('[', "'['");
    if (scan_.accept(']')) return out;
    do out.push_back(type());
    while (scan_.accept(','));
    scan_.expect(']', "',' or ']'");
    return out;
  }

  std::vector<std::int64_t> integers() {
    std::vector<std::int64_t> out;
    scan_.expect('[', "'['");
    if (scan_.accept(']')) return out;
    do out.push_back(scan_.integer("an integer"));
    while (scan_.accept(','));
    scan_.expect(']', "',' or ']'");
    return out;
  }

  void check_shape(const std::vector<std::int64_t>& sizes, std::size_t start) {
    if (sizes.size() > Shape::kMaxRank)
      scan_.fail(start, "a shape can have at most {} dimensions", Shape::kMaxRank);
    std::int64_t elements = 1;
    for (const std::int64_t size : sizes) {
      if (size < 0) scan_.fail(start, "a size cannot be negative");
      if (size > kMaxElements / elements) scan_.fail(start, "the shape is too large");
      elements *= std::max<std::int64_t>(size, 1);
    }
  }

  void settings(Node& node, StringPool& strings) {
    if (scan_.accept('}')) return;
    do setting(node, strings);
    while (scan_.accept(','));
    scan_.expect('}', "',' or '}'");
  }

  void setting(Node& node, StringPool& strings) {
    const std::size_t start = scan_.position();
    const std::string_view key = scan_.word("an attribute");
    const std::optional<Attr> attr = parse_attr(key);
    if (!attr && !is_label(key)) fail_unknown_setting(start, key);
    scan_.expect('=', "'='");
    if (attr) {
      if (node.attrs.has(*attr)) scan_.fail(start, "'{}' is given twice", key);
      attribute(node.attrs, *attr);
    } else if (key == "value") {
      if (node.op != Op::kConstant) scan_.fail(start, "only a constant has a value");
      literal_at_ = start;
      literal(node);
    } else if (key == "kind") {
      if (node.op != Op::kInput) scan_.fail(start, "only an input has a kind");
      kind(node);
    } else if (key == "name") {
      node.name = strings.intern(scan_.quoted());
    } else if (key == "scope") {
      node.origin.scope = strings.intern(scan_.quoted());
    } else {
      line(node, strings);
    }
  }

  static bool is_label(std::string_view key) {
    return std::find(kLabels.begin(), kLabels.end(), key) != kLabels.end();
  }

  [[noreturn]] void fail_unknown_setting(std::size_t start, std::string_view key) {
    std::array<std::string_view, kAttrCount + kLabels.size()> known;
    for (int i = 0; i < kAttrCount; ++i)
      known[static_cast<std::size_t>(i)] = name_of(static_cast<Attr>(i));
    std::copy(kLabels.begin(), kLabels.end(), known.begin() + kAttrCount);
    scan_.fail(start, "unknown attribute '{}'{}", key, suggestion(key, known));
  }

  void attribute(Attrs& attrs, Attr attr) {
    const std::size_t start = scan_.position();
    switch (type_of(attr)) {
      case AttrType::kInts: {
        std::vector<std::int64_t> values = integers();
        if (attr == Attr::kShape) check_shape(values, start);
        for (const std::int64_t v : values) check_bound(attr, v, start);
        attrs.set(attr, values);
        return;
      }
      case AttrType::kInt: {
        const std::int64_t v = scan_.integer("an integer");
        check_bound(attr, v, start);
        attrs.set_int(attr, v);
        return;
      }
      case AttrType::kFloat: {
        const std::optional<double> v = parse_double(scan_.number());
        if (!v) scan_.fail(start, "expected a number");
        attrs.set_float(attr, *v);
        return;
      }
      case AttrType::kFlag:
        if (scan_.accept_word("true")) {
          attrs.set_int(attr, 1);
        } else if (scan_.accept_word("false")) {
          attrs.set_int(attr, 0);
        } else {
          scan_.fail_expected("true or false");
        }
        return;
      case AttrType::kDType: attrs.set_dtype(dtype()); return;
      case AttrType::kText: attrs.set_text(attr, scan_.quoted()); return;
      case AttrType::kTypes: attrs.set(attr, write_type_list(types())); return;
    }
  }

  void check_bound(Attr attr, std::int64_t v, std::size_t start) {
    if (attr == Attr::kStream) return;
    const bool size = attr == Attr::kShape || attr == Attr::kStart || attr == Attr::kLimit ||
                      attr == Attr::kLow || attr == Attr::kHigh;
    const std::int64_t bound = size ? kMaxElements : kMaxSmall;
    if (v < -bound || v > bound) scan_.fail(start, "{} is out of range for '{}'", v, name_of(attr));
  }

  void literal(Node& node) {
    const std::size_t start = scan_.position();
    std::vector<std::pair<std::size_t, std::string_view>> elements;
    const auto element = [&] {
      const std::size_t at = scan_.position();
      elements.emplace_back(at, scan_.number());
    };
    if (node.type.shape.rank() == 0) {
      element();
    } else {
      scan_.expect('[', "'['");
      if (!scan_.accept(']')) {
        do element();
        while (scan_.accept(','));
        scan_.expect(']', "',' or ']'");
      }
    }
    if (static_cast<std::int64_t>(elements.size()) != node.type.elements())
      scan_.fail(start, "{} needs {} values, but {} are given", node.type.to_string(),
                 node.type.elements(), elements.size());
    node.literal = HostTensor(node.type.dtype, node.type.shape);
    for (std::size_t i = 0; i < elements.size(); ++i)
      if (!parse_element(elements[i].second, node.literal, i))
        scan_.fail(elements[i].first, "'{}' is not a value of {}", elements[i].second,
                   name_of(node.type.dtype));
  }

  void kind(Node& node) {
    const std::size_t start = scan_.position();
    const std::string_view name = scan_.word("an input kind");
    const std::optional<InputKind> kind = parse_input_kind(name);
    constexpr std::array<std::string_view, 4> kKnown = {"parameter", "state", "batch", "scalar"};
    if (!kind) scan_.fail(start, "unknown input kind '{}'{}", name, suggestion(name, kKnown));
    node.input_kind = *kind;
  }

  void line(Node& node, StringPool& strings) {
    const std::size_t start = scan_.position();
    const std::string text = scan_.quoted();
    const std::size_t colon = text.rfind(':');
    std::uint32_t number = 0;
    bool valid = colon != std::string::npos && colon > 0;
    if (valid) {
      const char* first = text.data() + colon + 1;
      const auto [end, error] = std::from_chars(first, text.data() + text.size(), number);
      valid = error == std::errc() && end == text.data() + text.size();
    }
    if (!valid) scan_.fail(start, "expected \"file:line\"");
    node.origin.file = strings.intern(std::string_view(text).substr(0, colon));
    node.origin.line = number;
  }

  static constexpr std::array<std::string_view, 5> kLabels = {"value", "kind", "name", "line",
                                                              "scope"};
  Scanner scan_;
  std::optional<int> ranks_;
  std::size_t literal_at_ = std::string_view::npos;  ///< of the current node's 'value'
};

}  // namespace

Graph parse(std::string_view text, std::string_view file_name, std::optional<int> ranks) {
  return Parser(text, file_name, ranks).whole();
}

}  // namespace lockstep
