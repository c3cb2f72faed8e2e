// Builds a graph node by node together with the estimates of its values. A node whose value has no
// certain estimate is refused, so that every output of the graph can be compared.
#pragma once

#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/roundoff/estimate.h"

namespace lockstep::testing {

/// The graph refuses this node. Caught by the code that tries random nodes.
struct Refused {};

/// How the elements of a float input are drawn.
enum class Fill : std::uint8_t {
  kCoarse,    ///< small multiples of 1/4: sums and products of few are exact
  kSmooth,    ///< uniform in [-2, 2]
  kPositive,  ///< uniform in [1/2, 2]
};

class GraphBuilder {
 public:
  explicit GraphBuilder(std::uint64_t seed);

  // --- Choices. ---
  std::int64_t pick(std::int64_t low, std::int64_t high);
  bool chance(int percent) { return pick(0, 99) < percent; }
  template <class T>
  T one_of(std::initializer_list<T> from) {
    return from.begin()[pick(0, static_cast<std::int64_t>(from.size()) - 1)];
  }
  /// From a few sizes of this graph, so that shapes match; sometimes 1.
  std::int64_t size();
  Shape shape(int min_rank, int max_rank);
  /// The main float dtype of this graph.
  DType main_float() const { return main_float_; }
  std::vector<std::int64_t> permutation(std::int64_t n);

  // --- Values. ---
  using Wanted = std::function<bool(ValueId)>;
  /// A random value for which `wanted` is true, more often an unused or recent one; nothing if
  /// there is none.
  std::optional<ValueId> find(const Wanted& wanted);
  Type type(ValueId id) const { return graph_[id].type; }
  Shape shape_of(ValueId id) const { return graph_[id].type.shape; }
  const Estimate& estimate(ValueId id) const { return estimates_[static_cast<std::size_t>(id)]; }
  ValueId size_so_far() const { return graph_.size(); }

  /// An input with drawn elements; integers are in [low, high].
  ValueId fresh(Type type, Fill fill);
  ValueId fresh(DType dtype, Shape shape);  ///< of any fill
  ValueId fresh_integers(Type type, std::int64_t low, std::int64_t high);
  ValueId input(const HostTensor& value, InputKind kind);
  ValueId constant(const HostTensor& value);
  ValueId scalar(DType dtype, double value);  ///< a constant
  ValueId splat(DType dtype, const Shape& shape, double value);

  /// Refused if the op does not accept these operands, or if the value is undecidable or too large.
  ValueId add(Op op, std::vector<ValueId> operands, Attrs attrs = {});
  ValueId add_call(std::vector<ValueId> operands, std::shared_ptr<const Graph> body);
  ValueId convert(ValueId x, DType to);
  ValueId broadcast(ValueId x, const Shape& to, std::vector<std::int64_t> dims);
  ValueId reduce(Op op, ValueId x, std::vector<std::int64_t> dims);
  ValueId reshape(ValueId x, const Shape& to);

  /// Makes `value` the next value of the input.
  void update(ValueId value, ValueId input) { wanted_updates_.push_back({value, input}); }

  /// The graph: unused values and some others are its outputs, and they update inputs where
  /// possible.
  Graph finish();
  const std::vector<HostTensor>& inputs() const { return inputs_; }

 private:
  ValueId append(Node node);
  HostTensor draw(const Type& type, Fill fill);

  std::mt19937_64 random_;
  DType main_float_;
  std::vector<std::int64_t> sizes_;
  std::int64_t max_elements_;
  Graph graph_;
  std::vector<Estimate> estimates_;
  std::vector<int> users_;
  std::vector<HostTensor> inputs_;
  std::vector<std::pair<ValueId, ValueId>> wanted_updates_;
};

}  // namespace lockstep::testing
