#include <memory>

#include "core/ir/type_list.h"
#include "core/kernels/reference/reference.h"

namespace lockstep {
namespace {

DType widened(DType dtype) {
  return is_float(dtype) ? DType::kF64 : dtype;
}

}  // namespace

Graph to_f64(const Graph& graph) {
  Graph out = graph;
  for (Node& node : out.nodes) {
    node.type.dtype = widened(node.type.dtype);
    if (node.attrs.has(Attr::kTo)) node.attrs.set_dtype(widened(node.attrs.dtype()));
    if (node.attrs.has(Attr::kResults)) {
      std::vector<Type> results = read_type_list(node.attrs.ints(Attr::kResults));
      for (Type& type : results) type.dtype = widened(type.dtype);
      node.attrs.set(Attr::kResults, write_type_list(results));
    }
    if (node.op == Op::kConstant && is_float(node.literal.dtype()))
      node.literal = from_doubles(DType::kF64, node.literal.shape(), to_doubles(node.literal));
    if (node.body != nullptr) node.body = std::make_shared<const Graph>(to_f64(*node.body));
  }
  return out;
}

}  // namespace lockstep
