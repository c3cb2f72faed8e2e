#include "core/base/error.h"
#include "core/base/reduce_tree.h"
#include "core/kernels/reference/operations.h"

namespace lockstep::reference {
namespace {

using Int = std::int64_t;

/// The sum over ranks in the one fixed tree (base/reduce_tree.h), every addition rounded: the bits
/// that any number of ranks and any transport must produce.
Value tree_sum(Operands x) {
  const auto combine = [](Value left, const Value& right) {
    std::visit(
        [&](auto& to) {
          const auto& from = std::get<std::decay_t<decltype(to)>>(right.elements);
          for (std::size_t i = 0; i < to.size(); ++i) to[i] = add(to[i], from[i]);
        },
        left.elements);
    round_to_dtype(left);
    return left;
  };
  return tree_reduce(
      0, static_cast<Int>(x.size()), [&](Int rank) { return *x[static_cast<std::size_t>(rank)]; },
      combine);
}

/// Run number `index` of runs of `type.elements()` elements each.
Value take_run(const Value& from, const Type& type, Int index) {
  Value out = make_value(type);
  std::visit(
      [&](auto& to) {
        const auto& source = std::get<std::decay_t<decltype(to)>>(from.elements);
        const auto first = source.begin() + index * type.elements();
        to.assign(first, first + type.elements());
      },
      out.elements);
  return out;
}

Value concatenate(const Type& type, Operands x) {
  Value out{type, x[0]->elements};
  std::visit(
      [&](auto& to) {
        to.clear();
        for (const Value* part : x) {
          const auto& from = std::get<std::decay_t<decltype(to)>>(part->elements);
          to.insert(to.end(), from.begin(), from.end());
        }
      },
      out.elements);
  return out;
}

void check_ranks(const Node& node, Operands x) {
  LS_USER_CHECK(node.attrs.integer(Attr::kRanks) == static_cast<Int>(x.size()),
                "{} is for {} ranks, but {} take part", name_of(node.op),
                node.attrs.integer(Attr::kRanks), x.size());
}

}  // namespace

std::vector<Value> evaluate_all_reduce(const Node&, Operands x) {
  return std::vector<Value>(x.size(), tree_sum(x));
}

std::vector<Value> evaluate_reduce_scatter(const Node& node, Operands x) {
  check_ranks(node, x);
  const Value sum = tree_sum(x);
  std::vector<Value> out;
  for (std::size_t rank = 0; rank < x.size(); ++rank)
    out.push_back(take_run(sum, node.type, static_cast<Int>(rank)));
  return out;
}

std::vector<Value> evaluate_all_gather(const Node& node, Operands x) {
  check_ranks(node, x);
  return std::vector<Value>(x.size(), concatenate(node.type, x));
}

std::vector<Value> evaluate_collective_broadcast(const Node& node, Operands x) {
  const Int root = node.attrs.integer(Attr::kRoot);
  LS_USER_CHECK(root >= 0 && root < static_cast<Int>(x.size()),
                "{} from rank {}, but {} ranks take part", name_of(node.op), root, x.size());
  return std::vector<Value>(x.size(), *x[static_cast<std::size_t>(root)]);
}

}  // namespace lockstep::reference
