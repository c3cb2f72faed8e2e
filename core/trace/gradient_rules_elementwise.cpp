#include <cmath>
#include <numbers>

#include "core/base/error.h"
#include "core/trace/context.h"
#include "core/trace/gradient_rule.h"

namespace lockstep {
namespace {

/// grad where `pred`, else 0.
Tensor masked(const Tensor& pred, const Tensor& grad) {
  return select(pred, grad, 0.0);
}

/// Whether x is known at recording, such as a plain number of an expression.
bool is_constant(const Tensor& x) {
  const Graph& graph = x.context().pending();
  const Node* node = &graph[x.context().node_of(x)];
  while (node->op == Op::kBroadcast) node = &graph[node->operands[0]];
  return node->op == Op::kConstant;
}

/// The gradient of max or min flows to the chosen operand, half to each at a tie; but a constant
/// wins its ties, so that a ReLU's result alone tells where it has a gradient: not at 0, as
/// PyTorch's.
Gradients gradient_extremum(const GradientCall& c, Op wins) {
  if (is_constant(c.in[1])) return {masked(binary(wins, c.out, c.in[1]), c.grad), Tensor()};
  if (is_constant(c.in[0])) return {Tensor(), masked(binary(wins, c.out, c.in[0]), c.grad)};
  const Tensor tie = equal(c.in[0], c.in[1]);
  const Tensor half = c.grad * 0.5;
  return {select(tie, half, masked(binary(wins, c.in[0], c.in[1]), c.grad)),
          select(tie, half, masked(binary(wins, c.in[1], c.in[0]), c.grad))};
}

}  // namespace

Gradients gradient_unary(const GradientCall& c) {
  const Tensor& x = c.in[0];
  const Tensor& y = c.out;
  const Tensor& g = c.grad;
  switch (as<UnaryOp>(c.node.op)) {
    case Op::kNegate: return {-g};
    case Op::kAbs: return {g * sign(x)};
    case Op::kExp: return {g * y};
    case Op::kLog: return {g / x};
    case Op::kTanh: return {g - g * (y * y)};
    case Op::kErf: return {g * (exp(-(x * x)) * (2.0 / std::sqrt(std::numbers::pi)))};
    case Op::kSqrt: return {g * 0.5 / y};
    case Op::kRsqrt: return {g * (y * y * y) * -0.5};
    case Op::kSin: return {g * cos(x)};
    case Op::kCos: return {-(g * sin(x))};
    case Op::kSign:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kRoundEven:
    case Op::kIsFinite:
    case Op::kNot: break;
  }
  LS_CHECK(false, "{} has no unary gradient", name_of(c.node.op));
  __builtin_unreachable();
}

Gradients gradient_binary(const GradientCall& c) {
  const Tensor& a = c.in[0];
  const Tensor& b = c.in[1];
  const Tensor& g = c.grad;
  const auto want = [&](std::size_t i, auto&& make) { return c.needed[i] ? make() : Tensor(); };
  switch (as<BinaryOp>(c.node.op)) {
    case Op::kAdd: return {g, g};
    case Op::kSubtract: return {g, want(1, [&] { return -g; })};
    case Op::kMultiply: return {want(0, [&] { return g * b; }), want(1, [&] { return g * a; })};
    case Op::kDivide:
      return {want(0, [&] { return g / b; }), want(1, [&] { return -(g * c.out / b); })};
    case Op::kRemainder:  // a - b * trunc(a / b)
      return {g, want(1, [&] { return -(g * ((a - c.out) / b)); })};
    case Op::kPower:
      return {want(0, [&] { return g * b * power(a, b - 1.0); }),
              want(1, [&] { return masked(greater(a, 0.0), g * c.out * log(a)); })};
    case Op::kMaximum: return gradient_extremum(c, Op::kGreater);
    case Op::kMinimum: return gradient_extremum(c, Op::kLess);
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
    case Op::kShiftLeft:
    case Op::kShiftRightLogical: break;
  }
  LS_CHECK(false, "{} has no binary gradient", name_of(c.node.op));
  __builtin_unreachable();
}

Gradients gradient_select(const GradientCall& c) {
  return {Tensor(), select(c.in[0], c.grad, 0.0), select(c.in[0], 0.0, c.grad)};
}

Gradients gradient_convert(const GradientCall& c) {
  const DType dtype = c.in[0].dtype();
  if (!is_float(dtype)) return {Tensor()};
  // A value that the forward pass widened is not rounded in the backward pass: its gradients are
  // added first.
  return {size_of(c.grad.dtype()) > size_of(dtype) ? c.grad : convert(c.grad, dtype)};
}

}  // namespace lockstep
