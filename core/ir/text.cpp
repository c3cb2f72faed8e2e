#include "core/ir/text.h"

#include <fmt/format.h>

#include <bit>
#include <iterator>

#include "core/ir/literal_text.h"
#include "core/ir/type_list.h"

namespace lockstep {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

class Printer {
 public:
  std::string out;

  void graph(const Graph& graph, int depth) {
    for (ValueId id = 0; id < graph.size(); ++id) {
      indent(depth);
      node(graph[id], id);
      if (graph[id].body != nullptr) {
        out += " body {\n";
        this->graph(*graph[id].body, depth + 1);
        indent(depth);
        out += "}";
      }
      out += "\n";
    }
    if (!inputs_in_node_order(graph)) {
      indent(depth);
      out += "inputs";
      values(graph.inputs);
      out += "\n";
    }
    indent(depth);
    out += "return";
    values(graph.outputs);
    out += "\n";
    for (const Update& update : graph.updates) {
      indent(depth);
      format("update {} -> %{}\n", update.output,
             graph.inputs[static_cast<std::size_t>(update.input)]);
    }
  }

  void node(const Node& node, ValueId id) {
    format("%{} = {} {}(", id, node.type.to_string(), name_of(node.op));
    for (std::size_t i = 0; i < node.operands.size(); ++i)
      format("{}%{}", i == 0 ? "" : ", ", node.operands[i]);
    out += ")";
    settings_ = 0;
    for (const Attrs::Entry& entry : node.attrs.entries()) attribute(entry);
    if (node.op == Op::kConstant) literal(node.literal);
    if (node.op == Op::kInput) setting("kind", name_of(node.input_kind));
    if (!node.name.empty()) setting("name", quoted(node.name));
    if (!node.origin.file.empty())
      setting("line", quoted(fmt::format("{}:{}", node.origin.file, node.origin.line)));
    if (!node.origin.scope.empty()) setting("scope", quoted(node.origin.scope));
    if (settings_ > 0) out += "}";
  }

 private:
  template <class... Args>
  void format(fmt::format_string<Args...> text, Args&&... args) {
    fmt::format_to(std::back_inserter(out), text, std::forward<Args>(args)...);
  }

  void indent(int depth) { out.append(2 * static_cast<std::size_t>(depth), ' '); }

  void values(ArrayRef<ValueId> list) {
    for (std::size_t i = 0; i < list.size(); ++i) format("{} %{}", i == 0 ? "" : ",", list[i]);
  }

  static bool inputs_in_node_order(const Graph& graph) {
    for (std::size_t i = 1; i < graph.inputs.size(); ++i)
      if (graph.inputs[i - 1] > graph.inputs[i]) return false;
    return true;
  }

  void setting(std::string_view key, std::string_view value) {
    format("{}{}={}", settings_++ == 0 ? " {" : ", ", key, value);
  }

  void attribute(const Attrs::Entry& entry) { setting(name_of(entry.attr), print_values(entry)); }

  void literal(const HostTensor& tensor) {
    if (tensor.empty()) {  // only in the verifier's messages
      setting("value", "?");
      return;
    }
    if (tensor.shape().rank() == 0) {
      setting("value", print_element(tensor, 0));
      return;
    }
    setting("value", "[");
    const auto count = static_cast<std::size_t>(tensor.shape().elements());
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) out += ", ";
      out += print_element(tensor, i);
    }
    out += "]";
  }

  int settings_ = 0;
};

}  // namespace

std::string print(const Graph& graph) {
  Printer printer;
  printer.graph(graph, 0);
  return std::move(printer.out);
}

std::string print_values(const Attrs::Entry& entry) {
  const IntView values = entry.values;
  switch (type_of(entry.attr)) {
    case AttrType::kInts: return fmt::format("[{}]", fmt::join(values, ","));
    case AttrType::kInt: return fmt::format("{}", values[0]);
    case AttrType::kFloat: return print_double(std::bit_cast<double>(values[0]));
    case AttrType::kFlag: return values[0] != 0 ? "true" : "false";
    case AttrType::kDType: return std::string(name_of(static_cast<DType>(values[0])));
    case AttrType::kText: {
      std::string text;
      for (const std::int64_t byte : values) text += static_cast<char>(byte);
      return quoted(text);
    }
    case AttrType::kTypes: {
      std::string types;
      for (const Type& type : read_type_list(values))
        types += (types.empty() ? "" : ",") + type.to_string();
      return fmt::format("[{}]", types);
    }
  }
  __builtin_unreachable();
}

std::string print_node(const Graph& graph, ValueId id) {
  Printer printer;
  printer.node(graph[id], id);
  return std::move(printer.out);
}

}  // namespace lockstep
