// Fusing changes no bit: a random group gives the results of its members as separate kernels. (Only
// totals are divided differently.)
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/ir/group.h"
#include "core/ir/text.h"
#include "tests/core/kernels/kernel_case.h"
#include "tests/fixtures/tested_target.h"

namespace lockstep::cpu_test {
namespace {

/// Many tasks of many vectors; more of them would only take longer.
constexpr std::int64_t kMostElements = 1 << 17;
constexpr DType kDTypes[] = {DType::kF32, DType::kBF16, DType::kI32};

std::size_t below(std::size_t count) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::size_t>(0, count));
}
template <class T>
T one_of(const std::vector<T>& choices) {
  return choices[below(choices.size())];
}

// Ops that leave numbers numbers, of moderate size: a NaN hides what is wrong with others.

/// One of the last few more often than not, so that chains grow long.
ValueId recent_of(const std::vector<ValueId>& ids) {
  const std::size_t last = below(4) == 0 ? ids.size() : std::min<std::size_t>(ids.size(), 5);
  return ids[ids.size() - 1 - below(last)];
}

/// Appends random members that keep the contract of core/ir/group.h.
class RandomGroup {
 public:
  RandomGroup() {
    const std::size_t rank = 1 + below(4);
    std::vector<std::int64_t> sizes(rank);
    for (std::int64_t& size : sizes)
      size = one_of<std::int64_t>({1, 1, 2, 3, 5, 16, 17, 40, 100, below(8) == 0 ? 0 : 4});
    for (std::int64_t& size : sizes)
      if (Shape(sizes).elements() > kMostElements) size = std::min<std::int64_t>(size, 5);
    domain_ = Shape(sizes);
    axis_ = static_cast<int>(below(rank + 1));
    for (const DType dtype : kDTypes) add_operand(dtype, domain_);
  }

  Case make(std::size_t members) {
    while (members-- > 0) add_member();
    use_all();
    add_sums();
    add_concatenation();
    for (int i = 0; i < 4; ++i) add_output(recent_of(full_));
    if (!rows_.empty()) add_output(recent_of(rows_));
    if (body_->outputs.empty()) add_output(elementwise(Op::kNegate, {full_[0]}));
    return make_group(body_, domain_, axis_, std::move(operands_));
  }

 private:
  using Ids = std::vector<ValueId>;

  const Type& type(ValueId id) const { return (*body_)[id].type; }
  Shape row_shape() const { return first(axis_); }
  Shape first(int count) const {
    const auto sizes = domain_.sizes();
    return Shape(std::vector<std::int64_t>(sizes.begin(), sizes.begin() + count));
  }
  Ids& level(bool row) { return row ? rows_ : full_; }

  ValueId add_operand(DType dtype, const Shape& shape) {
    operands_.push_back(random_tensor(dtype, shape, operands_.size() + 1, -9, 9));
    const ValueId id = body_->add_input({dtype, shape}, InputKind::kState, "");
    if (shape == domain_) full_.push_back(id);
    return id;
  }
  ValueId elementwise(Op op, const Ids& operands, const Attrs& attrs = {}) {
    return body_->add(op, operands, attrs);
  }
  void add_output(ValueId id) {
    const bool is_member = (*body_)[id].op != Op::kInput;
    const auto& outputs = body_->outputs;
    if (is_member && std::find(outputs.begin(), outputs.end(), id) == outputs.end())
      body_->outputs.push_back(id);
  }

  void add_member() {
    const bool row = axis_ < domain_.rank() && !rows_.empty() && below(3) == 0;
    switch (below(9)) {
      case 0: return add_broadcast_operand();
      case 1: return add_index(row);
      case 2: return add_reduction();
      case 3: return add_conversion(row);
      case 4: return add_slice(row);
      default: return add_elementwise(row);
    }
  }

  void add_broadcast_operand() {
    Shape shape;
    Attrs::Ints dims;
    for (int d = 0; d < domain_.rank(); ++d) {
      const std::size_t how = below(3);
      if (how == 0) continue;
      shape.push_back(how == 1 ? 1 : domain_[d]);
      dims.push_back(d);
    }
    const ValueId operand = add_operand(one_of<DType>({DType::kF32, DType::kBF16}), shape);
    full_.push_back(elementwise(Op::kBroadcast, {operand},
                                {{Attr::kShape, domain_.sizes()}, {Attr::kDims, dims}}));
  }

  /// Of an operand with more elements around it, or that many.
  void add_slice(bool row) {
    const Shape shape = row ? row_shape() : domain_;
    if (shape.rank() == 0) return;
    Shape from;
    Attrs::Ints start, limit;
    for (const std::int64_t size : shape.sizes()) {
      start.push_back(static_cast<std::int64_t>(below(3)));
      limit.push_back(start.back() + size);
      from.push_back(limit.back() + static_cast<std::int64_t>(below(3)));
    }
    operands_.push_back(random_tensor(DType::kF32, from, operands_.size() + 1, -9, 9));
    const ValueId operand = body_->add_input({DType::kF32, from}, InputKind::kState, "");
    const Attrs::Ints ones(start.size(), 1);
    level(row).push_back(
        elementwise(Op::kSlice, {operand},
                    {{Attr::kStart, start}, {Attr::kLimit, limit}, {Attr::kStride, ones}}));
  }

  void add_index(bool row) {
    const Shape shape = row ? row_shape() : domain_;
    if (shape.rank() == 0) return;
    Attrs attrs{
        {Attr::kShape, shape.sizes()},
        {Attr::kAxis, {static_cast<std::int64_t>(below(static_cast<std::size_t>(shape.rank())))}}};
    attrs.set_dtype(one_of<DType>({DType::kF32, DType::kI32}));
    level(row).push_back(elementwise(Op::kIota, {}, attrs));
  }

  void add_reduction() {
    if (axis_ == domain_.rank()) return;
    Attrs::Ints dims;
    for (int d = axis_; d < domain_.rank(); ++d) dims.push_back(d);
    // Alone, a sum over all dimensions is a total.
    const Op op = axis_ == 0 ? one_of<Op>({Op::kReduceMax, Op::kReduceMin})
                             : one_of<Op>({Op::kReduceSum, Op::kReduceMax, Op::kReduceMin});
    const ValueId from = recent_of(full_);
    const ValueId row = elementwise(op, {from}, {{Attr::kDims, dims}});
    rows_.push_back(row);
    Attrs::Ints kept;
    for (int d = 0; d < axis_; ++d) kept.push_back(d);
    const ValueId spread =
        elementwise(Op::kBroadcast, {row}, {{Attr::kShape, domain_.sizes()}, {Attr::kDims, kept}});
    // As norms do: what was reduced is used again.
    full_.push_back(elementwise(Op::kSubtract, {from, spread}));
  }

  void add_conversion(bool row) {
    Attrs attrs;
    attrs.set_dtype(one_of<DType>({DType::kF32, DType::kBF16, DType::kI32}));
    level(row).push_back(elementwise(Op::kConvert, {recent_of(level(row))}, attrs));
  }

  void add_elementwise(bool row) {
    Ids& values = level(row);
    const ValueId a = recent_of(values);
    Ids alike;
    for (const ValueId id : values)
      if (type(id).dtype == type(a).dtype) alike.push_back(id);
    const ValueId b = recent_of(alike);
    if (below(4) == 0) {
      const ValueId less = elementwise(one_of<Op>({Op::kLess, Op::kEqual}), {a, b});
      values.push_back(elementwise(Op::kSelect, {less, one_of(alike), one_of(alike)}));
    } else if (is_float(type(a).dtype) && below(2) == 0) {
      values.push_back(
          elementwise(one_of<Op>({Op::kTanh, Op::kErf, Op::kNegate, Op::kSin, Op::kFloor}), {a}));
    } else {
      values.push_back(elementwise(
          one_of<Op>({Op::kAdd, Op::kSubtract, Op::kMultiply, Op::kMaximum, Op::kMinimum}),
          {a, b}));
    }
  }

  /// Values that nobody uses yet are added up, so that none is dropped.
  void use_all() {
    const std::vector<int> users = count_users(*body_);
    ValueId sum = full_[0];
    for (const ValueId id : full_)
      if (type(id).dtype == type(sum).dtype && users[static_cast<std::size_t>(id)] == 0)
        sum = elementwise(Op::kAdd, {sum, id});
    full_.push_back(sum);
    add_output(sum);
  }

  void add_sums() {
    if (axis_ == 0 || axis_ == domain_.rank() || below(2) == 0) return;
    Attrs::Ints dims;
    for (int d = 0; d < axis_; ++d) dims.push_back(d);
    add_output(elementwise(Op::kReduceSum, {recent_of(full_)}, {{Attr::kDims, dims}}));
  }

  void add_concatenation() {
    if (axis_ != domain_.rank() || below(2) == 0) return;
    Ids alike;
    const ValueId last = recent_of(full_);
    for (const ValueId id : full_)
      if (type(id).dtype == type(last).dtype) alike.push_back(id);
    Ids parts;
    for (std::size_t count = 1 + below(4); count > 0; --count) parts.push_back(one_of(alike));
    const auto axis = static_cast<std::int64_t>(below(static_cast<std::size_t>(axis_)));
    add_output(elementwise(Op::kConcatenate, parts, {{Attr::kAxis, {axis}}}));
  }

  std::shared_ptr<Graph> body_ = std::make_shared<Graph>();
  Shape domain_;
  int axis_ = 0;
  std::vector<HostTensor> operands_;
  Ids full_;
  Ids rows_;
};

/// The outputs, with every member a kernel of its own.
std::vector<HostTensor> run_one_by_one(const Case& c) {
  const Graph& body = *c.node.body;
  std::vector<HostTensor> values;
  std::size_t inputs = 0;
  for (const Node& node : body.nodes) {
    if (node.op == Op::kInput) {
      values.push_back(c.operands[inputs++]);
      continue;
    }
    Case member{node, {}};
    for (const ValueId operand : node.operands)
      member.operands.push_back(values[static_cast<std::size_t>(operand)]);
    values.push_back(run_case(member));
  }
  std::vector<HostTensor> out;
  out.reserve(body.outputs.size());
  for (const ValueId id : body.outputs) out.push_back(values[static_cast<std::size_t>(id)]);
  return out;
}

/// The first element that differs; NaNs are all alike.
std::string difference(const HostTensor& a, const HostTensor& b) {
  const auto x = to_doubles(a);
  const auto y = to_doubles(b);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool same = std::isnan(x[i]) ? std::isnan(y[i])
                                       : x[i] == y[i] && std::signbit(x[i]) == std::signbit(y[i]);
    if (!same) return fmt::format("element {}: {} and {}", i, x[i], y[i]);
  }
  return "";
}

RC_GTEST_PROP(CodegenRandomGroup, GivesTheBitsOfItsMembers, ()) {
  const Case c = RandomGroup().make(8 + below(32));
  RC_ASSERT(find_group_error(c.node) == "");
  const std::vector<HostTensor> want = run_one_by_one(c);
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    if (isa > tested_target().isa) continue;
    const std::vector<HostTensor> got = run_results(c, {.isa = isa, .threads = 2, .shift = 2});
    for (std::size_t k = 0; k < want.size(); ++k) {
      const std::string wrong = difference(got[k], want[k]);
      if (!wrong.empty())
        RC_FAIL(fmt::format("result {}, {}\n{}\n{}", k, wrong, c.node.attrs.ints(Attr::kAxis)[0],
                            print(*c.node.body)));
    }
  }
  RC_ASSERT(!testing::Test::HasFailure());
}

}  // namespace
}  // namespace lockstep::cpu_test
