#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/base/duration.h"
#include "trainer/report/sections.h"

namespace lockstep {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int kMaxModuleDepth = 24;
constexpr std::size_t kMaxShownOps = 4000;  ///< in fused kernels; beyond, only longer kernels show

/// A node of the tree: a module and what lies in it.
struct GraphNode {
  std::string name;
  const char* kind = "module";
  double ms = 0;  ///< of all that lies in it
  std::vector<GraphNode> children = {};
  const ProgramRecord::CommandRecord* command = nullptr;  ///< of a kernel

  GraphNode& child(std::string_view of_name) {
    for (GraphNode& each : children)
      if (each.command == nullptr && each.name == of_name) return each;
    children.push_back({.name = std::string(of_name)});
    return children.back();
  }
};

/// Puts a kernel below the modules of its path, "h.0.attn".
void add_kernel(const ProgramRecord::CommandRecord& command, GraphNode& root) {
  GraphNode* at = &root;
  at->ms += command.ms;
  std::string_view path = command.module;
  for (int depth = 0; !path.empty(); ++depth) {
    // Deeper than any model; what is below counts as one module.
    const std::size_t dot = depth < kMaxModuleDepth ? path.find('.') : std::string_view::npos;
    at = &at->child(path.substr(0, dot));
    at->ms += command.ms;
    path = dot == std::string_view::npos ? "" : path.substr(dot + 1);
  }
  at->children.push_back(
      {.name = command.op, .kind = "kernel", .ms = command.ms, .command = &command});
}

/// Whether the ops of a kernel of this time are shown: the longest kernels come first.
double shortest_shown(const ProgramRecord& record) {
  std::vector<std::pair<double, std::size_t>> kernels;
  for (const ProgramRecord::Program& program : record.programs)
    for (const ProgramRecord::CommandRecord& command : program.commands)
      kernels.emplace_back(command.ms, command.body.size());
  std::ranges::sort(kernels, std::greater());
  std::size_t ops = 0;
  for (const auto& [ms, count] : kernels) {
    ops += count;
    if (ops > kMaxShownOps) return ms;
  }
  return -1;
}

OrderedJson node_json(const GraphNode& node, double shortest) {
  OrderedJson out{{"name", node.name}, {"kind", node.kind}, {"ms", node.ms}};
  OrderedJson children = OrderedJson::array();
  if (const ProgramRecord::CommandRecord* command = node.command) {
    out["line"] = command->line;
    out["detail"] = command->with_previous ? command->work + ", timed with the kernel before it"
                                           : command->work;
    if (command->ms > shortest)
      for (const ProgramRecord::FusedOp& op : command->body)
        children.push_back(
            {{"name", op.op}, {"kind", "op"}, {"line", op.line}, {"detail", op.module}});
  }
  std::vector<const GraphNode*> ordered;
  ordered.reserve(node.children.size());
  for (const GraphNode& child : node.children) ordered.push_back(&child);
  std::ranges::stable_sort(ordered, std::greater(), [](const GraphNode* each) { return each->ms; });
  for (const GraphNode* child : ordered) children.push_back(node_json(*child, shortest));
  if (!children.empty()) out["children"] = std::move(children);
  return out;
}

std::string graph_finding(const GraphNode& step) {
  const GraphNode* at = &step;
  std::string path;
  for (int depth = 0; depth < 2; ++depth) {
    const auto most = std::ranges::max_element(at->children, {}, &GraphNode::ms);
    if (most == at->children.end() || most->command != nullptr) break;
    path += (path.empty() ? "" : " / ") + most->name;
    at = &*most;
  }
  if (path.empty() || step.ms <= 0) return "No command was measured.";
  return fmt::format("Of the {} of commands in a step, {:.0f} % lie in {}.",
                     readable_ns(1e6 * step.ms), 100 * at->ms / step.ms, path);
}

}  // namespace

std::string graph_section(const RunFacts& facts) {
  OrderedJson out{{"sources",
                   {facts.file("profile/program.json"),
                    "lockstep profile " + shell_word(facts.folder) + " --by module"}}};
  if (!facts.program) {
    out["finding"] = "The programs of the run were not recorded.";
    out["missing"] = facts.without_ledger();
    return out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  }
  GraphNode step{.name = "step", .kind = "step"};
  for (const ProgramRecord::Program& program : facts.program->programs) {
    GraphNode& root = step.child(program.name);
    root.kind = "program";
    for (const ProgramRecord::CommandRecord& command : program.commands) add_kernel(command, root);
    step.ms += root.ms;
  }
  out["finding"] = graph_finding(step);
  out["root"] = node_json(step, shortest_shown(*facts.program));
  return out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace lockstep
