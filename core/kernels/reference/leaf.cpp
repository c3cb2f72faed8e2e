#include "core/base/rng.h"
#include "core/kernels/reference/operations.h"
#include "core/kernels/reference/strided.h"

namespace lockstep::reference {

Value evaluate_iota(const Node& node) {
  Value out = make_value(node.type);
  const Shape& shape = node.type.shape;
  // The offset in a tensor in which only `axis` has a stride is the index along the axis.
  std::vector<std::int64_t> along_axis(static_cast<std::size_t>(shape.rank()), 0);
  along_axis[static_cast<std::size_t>(node.attrs.integer(Attr::kAxis))] = 1;
  std::visit(
      [&](auto& to) {
        for_each_index<2>(shape, {{{shape.strides()}, {along_axis}}},
                          [&](std::size_t at, std::size_t index) {
                            using T = typename std::decay_t<decltype(to)>::value_type;
                            to[at] = static_cast<T>(index);
                          });
      },
      out.elements);
  return out;
}

Value evaluate_random_bits(const Node& node, Operands in) {
  RngKey key;
  key.seed = static_cast<std::uint64_t>(in[0]->integers()[0]);
  key.step = static_cast<std::uint64_t>(in[1]->integers()[0]);
  key.micro_batch = static_cast<std::uint32_t>(in[2]->integers()[0]);
  key.stream = static_cast<std::uint64_t>(node.attrs.integer(Attr::kStream));
  std::vector<std::uint32_t> words(static_cast<std::size_t>(node.type.elements()));
  random_bits(key, 0, words);
  // Wrapping to i32 afterwards takes the bits as they are.
  return {node.type, Integers(words.begin(), words.end())};
}

}  // namespace lockstep::reference
