#include "core/observe/bundle.h"

#include <fmt/format.h>

namespace lockstep {

std::string signature_of(const CommandBundle& bundle) {
  const Plan& plan = bundle.plan;
  const Node& node = bundle.node();
  const std::size_t count = bundle.end - bundle.begin;
  std::string out = count > 1 ? fmt::format("{} at once, the first: ", count) : "";
  out += name_of(node.op);
  if (node.op == Op::kHostCall) out += " " + node.attrs.text(Attr::kFunction);
  out += fmt::format(" {} (", node.type.to_string());
  for (std::size_t i = 0; i < node.operands.size(); ++i)
    out += (i == 0 ? "" : ", ") + plan.graph[node.operands[i]].type.to_string();
  return out + ")";
}

std::string source_line(const Node& node) {
  Origin place = node.origin;
  place.scope = {};
  return place.to_string();
}

}  // namespace lockstep
