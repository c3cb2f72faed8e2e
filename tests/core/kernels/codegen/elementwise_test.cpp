#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/base/rng.h"
#include "core/kernels/plan_kernel.h"
#include "tests/core/kernels/kernel_case.h"
#include "tests/core/kernels/reference/evaluate.h"
#include "tests/fixtures/tested_target.h"

namespace lockstep::cpu_test {
namespace {

constexpr DType kFloats[] = {DType::kF32, DType::kBF16, DType::kF16, DType::kF64};
constexpr DType kIntegers[] = {DType::kI32, DType::kI64, DType::kU8};
constexpr DType kAll[] = {DType::kF32, DType::kBF16, DType::kF16, DType::kF64,
                          DType::kI32, DType::kI64,  DType::kU8,  DType::kBool};

/// Half-precision results may differ by one rounding where f32 and f64 arithmetic straddle a tie.
double tolerance(DType dtype) {
  if (dtype == DType::kBF16) return 0x1p-8;
  if (dtype == DType::kF16) return 0x1p-11;
  return 2.5e-7;
}

std::vector<HostTensor> two_operands(DType dtype, const Shape& shape) {
  return {random_tensor(dtype, shape, 1, -9, 9), random_tensor(dtype, shape, 2, -3, 3)};
}

TEST(CodegenElementwise, UnaryOpsMatchTheReference) {
  for (const DType dtype : kFloats) {
    for (const Op op : {Op::kNegate, Op::kAbs, Op::kSign, Op::kExp, Op::kTanh, Op::kErf, Op::kSin,
                        Op::kCos, Op::kFloor, Op::kCeil, Op::kRoundEven, Op::kIsFinite})
      expect_correct(make_case(op, {random_tensor(dtype, {5, 61}, 1, -9, 9)}), tolerance(dtype),
                     1e-7);
    for (const Op op : {Op::kLog, Op::kSqrt, Op::kRsqrt})
      expect_correct(make_case(op, {random_tensor(dtype, {5, 61}, 1, 0.01, 9)}), tolerance(dtype),
                     1e-7);
  }
  for (const DType dtype : kIntegers)
    for (const Op op : {Op::kNegate, Op::kAbs, Op::kSign, Op::kNot})
      expect_correct(make_case(op, {random_tensor(dtype, {5, 61}, 1, -9, 9)}));
  expect_correct(make_case(Op::kNot, {random_tensor(DType::kBool, {77}, 1)}));
}

TEST(CodegenElementwise, BinaryOpsMatchTheReference) {
  for (const DType dtype : kFloats) {
    for (const Op op : {Op::kAdd, Op::kSubtract, Op::kMultiply, Op::kDivide, Op::kRemainder,
                        Op::kMaximum, Op::kMinimum})
      expect_correct(make_case(op, two_operands(dtype, {3, 67})), tolerance(dtype), 1e-7);
    expect_correct(make_case(Op::kPower, {random_tensor(dtype, {3, 67}, 1, 0, 9),
                                          random_tensor(dtype, {3, 67}, 2, -3, 3)}),
                   tolerance(dtype), 1e-7);
  }
  for (const DType dtype : kIntegers)
    for (const Op op :
         {Op::kAdd, Op::kSubtract, Op::kMultiply, Op::kDivide, Op::kRemainder, Op::kMaximum,
          Op::kMinimum, Op::kAnd, Op::kOr, Op::kXor, Op::kShiftLeft, Op::kShiftRightLogical})
      expect_correct(make_case(op, two_operands(dtype, {3, 67})));
  for (const Op op : {Op::kAnd, Op::kOr, Op::kXor})
    expect_correct(make_case(
        op, {random_tensor(DType::kBool, {40}, 1), random_tensor(DType::kBool, {40}, 2)}));
}

TEST(CodegenElementwise, IntegerEdgesFollowTheirDefinition) {
  const std::int32_t low = INT32_MIN;
  const auto x =
      HostTensor::of<std::int32_t>({6}, std::vector<std::int32_t>{low, 7, -7, low, 1, -1});
  const auto y = HostTensor::of<std::int32_t>({6}, std::vector<std::int32_t>{-1, 0, 2, 0, 32, -1});
  for (const Op op : {Op::kDivide, Op::kRemainder, Op::kShiftLeft, Op::kShiftRightLogical,
                      Op::kMultiply, Op::kSubtract})
    expect_correct(make_case(op, {x, y}));
}

TEST(CodegenElementwise, SpecialFloatsMatchTheReference) {
  constexpr float kInf = INFINITY;
  const std::vector<float> values = {0.0F, -0.0F, 1.0F,   -1.0F, kInf,    -kInf,
                                     NAN,  0.5F,  100.0F, -2.5F, -104.0F, 3e38F};
  std::vector<float> a;
  std::vector<float> b;
  for (const float x : values)
    for (const float y : values) {
      a.push_back(x);
      b.push_back(y);
    }
  const Shape shape{static_cast<std::int64_t>(a.size())};
  const auto x = HostTensor::of(shape, a);
  const auto y = HostTensor::of(shape, b);
  for (const Op op : {Op::kSign, Op::kExp, Op::kLog, Op::kTanh, Op::kErf, Op::kSqrt, Op::kRsqrt,
                      Op::kSin, Op::kCos, Op::kFloor, Op::kRoundEven, Op::kIsFinite})
    expect_correct(make_case(op, {x}), 3e-7, 1e-37);
  for (const Op op : std::initializer_list<Op>{Op::kMaximum, Op::kMinimum, Op::kPower, Op::kDivide,
                                               Op::kRemainder, Op::kEqual, Op::kNotEqual, Op::kLess,
                                               Op::kLessEqual, Op::kGreater, Op::kGreaterEqual})
    expect_correct(make_case(op, {x, y}), 3e-7, 1e-37);
}

TEST(CodegenElementwise, ZerosHaveTheSignOfTheReference) {
  const std::vector<double> a = {0, 0, 0, 0, -0.0, -0.0, -0.0, -0.0, 1, 1, 1, -1, -1, -1};
  const std::vector<double> b = {0, -0.0, 1, -1, 0, -0.0, 1, -1, 0, -0.0, 1, 0, -0.0, -1};
  const auto expect_signs = [](const Case& c) {
    const std::vector<double> want =
        to_doubles(evaluate_reference_node(c.node, c.operands).front());
    const std::vector<double> got = to_doubles(run_case(c));
    for (std::size_t i = 0; i < want.size(); ++i)
      if (want[i] == 0 && got[i] == 0) {
        EXPECT_EQ(std::signbit(got[i]), std::signbit(want[i]))
            << name_of(c.node.op) << " -> " << c.node.type.to_string() << " element " << i;
      }
  };
  for (const DType dtype : kFloats) {
    const Shape shape{static_cast<std::int64_t>(a.size())};
    const HostTensor x = from_doubles(dtype, shape, a);
    const HostTensor y = from_doubles(dtype, shape, b);
    for (const Op op :
         {Op::kNegate, Op::kAbs, Op::kSign, Op::kExp, Op::kLog, Op::kTanh, Op::kErf, Op::kSqrt,
          Op::kRsqrt, Op::kSin, Op::kCos, Op::kFloor, Op::kCeil, Op::kRoundEven})
      expect_signs(make_case(op, {x}));
    for (const Op op : {Op::kAdd, Op::kSubtract, Op::kMultiply, Op::kDivide, Op::kRemainder,
                        Op::kPower, Op::kMaximum, Op::kMinimum})
      expect_signs(make_case(op, {x, y}));
    for (const DType to : kFloats) {
      Attrs attrs;
      attrs.set_dtype(to);
      expect_signs(make_case(Op::kConvert, {x}, attrs));
    }
  }
}

TEST(CodegenElementwise, ComparesSelectsAndConvertsEveryDtype) {
  for (const DType dtype : kAll) {
    const auto a = random_tensor(dtype, {4, 33}, 1, -4, 4);
    const auto b = random_tensor(dtype, {4, 33}, 2, -4, 4);
    expect_correct(make_case(Op::kLess, {a, b}));
    expect_correct(make_case(Op::kEqual, {a, b}));
    expect_correct(make_case(Op::kSelect, {random_tensor(DType::kBool, {4, 33}, 3), a, b}));
    for (const DType to : kAll) {
      Attrs attrs;
      attrs.set_dtype(to);
      expect_correct(make_case(Op::kConvert, {a}, attrs));
    }
  }
}

TEST(CodegenElementwise, ConvertSaturates) {
  const auto x = HostTensor::of<float>(
      {9}, std::vector<float>{NAN, INFINITY, -INFINITY, 3e9F, -3e9F, 255.5F, 256.0F, -1.0F, 0.9F});
  for (const DType to : {DType::kI32, DType::kI64, DType::kU8, DType::kBool}) {
    Attrs attrs;
    attrs.set_dtype(to);
    expect_correct(make_case(Op::kConvert, {x}, attrs));
  }
}

TEST(CodegenElementwise, BroadcastsReadThroughStrides) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI64, DType::kBool}) {
    const auto broadcast = [&](const Shape& from, const Attrs::Ints& to, const Attrs::Ints& dims) {
      expect_correct(make_case(Op::kBroadcast, {random_tensor(dtype, from, 1)},
                               {{Attr::kShape, to}, {Attr::kDims, dims}}));
    };
    broadcast({}, {7, 5}, {});
    broadcast({70}, {9, 70}, {1});
    broadcast({9}, {9, 70}, {0});
    broadcast({3, 1, 5}, {3, 41, 5}, {0, 1, 2});
    broadcast({3, 5}, {2, 3, 4, 5}, {1, 3});
    broadcast({1}, {0}, {0});
    broadcast({1}, {1}, {0});
  }
}

TEST(CodegenElementwise, IotaCountsAlongAnyAxis) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI32, DType::kI64, DType::kU8})
    for (const std::int64_t axis : {0, 1, 2}) {
      Attrs attrs{{Attr::kShape, {3, 50, 7}}, {Attr::kAxis, {axis}}};
      attrs.set_dtype(dtype);
      expect_correct(make_case(Op::kIota, {}, attrs));
    }
}

TEST(CodegenElementwise, RandomBitsAreThePhiloxWords) {
  for (const std::int64_t n : {0, 1, 31, 5000}) {
    const Case c = make_case(Op::kRandomBits, {i64_scalar(7), i64_scalar(1LL << 40), i64_scalar(3)},
                             {{Attr::kShape, {n}}, {Attr::kStream, {12345}}});
    std::vector<std::uint32_t> want(static_cast<std::size_t>(n));
    random_bits({7, 12345, 1ULL << 40, 3}, 0, want);
    for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
      const HostTensor got = run_case(c, {.isa = isa, .threads = 2});
      EXPECT_TRUE(std::equal(want.begin(), want.end(),
                             reinterpret_cast<std::uint32_t*>(got.bytes().data())));
    }
  }
}

/// Appends ops to a body; the second operand of binary ones may be a scalar that is broadcast.
struct Body {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Shape shape;

  ValueId input(DType dtype, const Shape& s) {
    return graph->add_input({dtype, s}, InputKind::kState, "x");
  }
  ValueId spread(ValueId value, Attrs::Ints dims = {}) {
    return graph->add(Op::kBroadcast, {value},
                      {{Attr::kShape, shape.sizes()}, {Attr::kDims, dims}});
  }
  ValueId number(float value) { return spread(graph->add_constant(HostTensor::scalar(value))); }
  ValueId add(Op op, const std::vector<ValueId>& operands) { return graph->add(op, operands); }
};

Case gelu(std::int64_t rows, std::int64_t columns) {
  Body b{.shape = {rows, columns}};
  const ValueId x = b.input(DType::kF32, b.shape);
  const ValueId bias = b.spread(b.input(DType::kF32, {columns}), {1});
  const ValueId z = b.add(Op::kAdd, {x, bias});
  const ValueId cube = b.add(Op::kMultiply, {b.add(Op::kMultiply, {z, z}), z});
  const ValueId inner = b.add(
      Op::kMultiply, {b.number(0.7978845608F),
                      b.add(Op::kAdd, {z, b.add(Op::kMultiply, {b.number(0.044715F), cube})})});
  const ValueId one = b.add(Op::kAdd, {b.number(1.0F), b.add(Op::kTanh, {inner})});
  b.graph->outputs = {b.add(Op::kMultiply, {b.add(Op::kMultiply, {b.number(0.5F), z}), one})};
  return make_group(
      b.graph, {random_tensor(DType::kF32, b.shape, 1), random_tensor(DType::kF32, {columns}, 2)});
}

TEST(CodegenElementwise, GeluOfABiasedMatrixMatches) {
  expect_correct(gelu(70, 513), 1e-5, 1e-6);
  expect_correct(gelu(1, 1), 1e-5, 1e-6);
  expect_correct(gelu(0, 4), 1e-5, 1e-6);
}

TEST(CodegenElementwise, AScalarComputationRunsOnceAndAppliesEverywhere) {
  // x * (1 / (1 - beta^step)) with scalar inputs beta and step, the form of Adam's correction.
  Body b{.shape = {333}};
  const ValueId x = b.input(DType::kF32, b.shape);
  const ValueId beta = b.input(DType::kF32, {});
  const ValueId step = b.input(DType::kF32, {});
  const ValueId one = b.graph->add_constant(HostTensor::scalar(1.0F));
  const ValueId correction =
      b.add(Op::kDivide, {one, b.add(Op::kSubtract, {one, b.add(Op::kPower, {beta, step})})});
  b.graph->outputs = {b.add(Op::kMultiply, {x, b.spread(correction)})};
  expect_correct(make_group(b.graph, {random_tensor(DType::kF32, {333}, 1),
                                      HostTensor::scalar(0.9F), HostTensor::scalar(7.0F)}),
                 1e-6);
}

TEST(CodegenElementwise, AChainOnASmallerShapeIsPushedThroughItsBroadcast) {
  // exp(x - rowmax) * rsqrt(rowvar + eps), rows broadcast along columns.
  Body b{.shape = {40, 37}};
  const ValueId x = b.input(DType::kF32, b.shape);
  const ValueId largest = b.input(DType::kF32, {40});
  const ValueId variance = b.input(DType::kF32, {40, 1});
  Body rows{.graph = b.graph, .shape = {40, 1}};
  const ValueId scale = b.add(Op::kRsqrt, {b.add(Op::kAdd, {variance, rows.number(1e-5F)})});
  const ValueId e = b.add(Op::kExp, {b.add(Op::kSubtract, {x, b.spread(largest, {0})})});
  b.graph->outputs = {b.add(Op::kMultiply, {e, b.spread(scale, {0, 1})})};
  expect_correct(make_group(b.graph, {random_tensor(DType::kF32, {40, 37}, 1),
                                      random_tensor(DType::kF32, {40}, 2),
                                      random_tensor(DType::kF32, {40, 1}, 3, 0.1, 2)}),
                 1e-6);
}

TEST(CodegenElementwise, DropoutDrawsInsideTheGroup) {
  Body b{.shape = {50, 21}};
  const ValueId x = b.input(DType::kF32, b.shape);
  std::vector<ValueId> key;
  key.reserve(3);
  for (int i = 0; i < 3; ++i) key.push_back(b.input(DType::kI64, {}));
  const ValueId bits =
      b.graph->add(Op::kRandomBits, key, {{Attr::kShape, {50, 21}}, {Attr::kStream, {99}}});
  const ValueId eight = b.spread(b.graph->add_constant(HostTensor::scalar<std::int32_t>(8)));
  Attrs to_f32;
  to_f32.set_dtype(DType::kF32);
  const ValueId u =
      b.graph->add(Op::kConvert, {b.add(Op::kShiftRightLogical, {bits, eight})}, to_f32);
  const ValueId keep = b.add(Op::kGreaterEqual, {u, b.number(0.25F * 0x1p24F)});
  b.graph->outputs = {b.add(Op::kSelect, {keep, x, b.number(0.0F)})};
  expect_correct(make_group(b.graph, {random_tensor(DType::kF32, {50, 21}, 1), i64_scalar(1),
                                      i64_scalar(2), i64_scalar(3)}));
}

TEST(CodegenElementwise, TheResultMayBeALeaf) {
  Body copy{.shape = {3, 50}};
  copy.graph->outputs = {copy.input(DType::kF32, copy.shape)};
  expect_correct(make_group(copy.graph, {random_tensor(DType::kF32, {3, 50}, 1)}));

  Body number{.shape = {3, 50}};
  number.graph->outputs = {number.number(2.5F)};
  expect_correct(make_group(number.graph, {}));

  Body scalar{.shape = {}};
  const ValueId x = scalar.input(DType::kF32, {});
  scalar.graph->outputs = {scalar.add(Op::kMultiply, {x, x})};
  expect_correct(make_group(scalar.graph, {HostTensor::scalar(3.0F)}));
}

TEST(CodegenElementwise, AGroupOfHundredsOfLiveValuesStillRuns) {
  Body b{.shape = {100}};
  const ValueId x = b.input(DType::kF32, b.shape);
  std::vector<ValueId> terms;
  terms.reserve(600);
  for (int i = 0; i < 600; ++i)
    terms.push_back(b.add(Op::kMultiply, {x, b.number(static_cast<float>(i))}));
  ValueId sum = terms.back();
  for (std::size_t i = terms.size() - 1; i-- > 0;) sum = b.add(Op::kAdd, {terms[i], sum});
  b.graph->outputs = {sum};
  expect_correct(make_group(b.graph, {random_tensor(DType::kF32, {100}, 1)}), 1e-5, 1e-3);
}

TEST(CodegenElementwise, MayRunInPlaceOnlyWhereElementsMeetThemselves) {
  const Case c = gelu(8, 64);
  const auto kernel = make_kernel(c.node, c.types(), tested_target());
  EXPECT_TRUE(kernel->may_alias(0, 0));
  EXPECT_FALSE(kernel->may_alias(0, 1));
  Attrs attrs;
  attrs.set_dtype(DType::kI64);
  const Case widens = make_case(Op::kConvert, {random_tensor(DType::kF32, {8}, 1)}, attrs);
  EXPECT_FALSE(make_kernel(widens.node, widens.types(), tested_target())->may_alias(0, 0));

  // In place: the result is the same.
  flush_denormals();
  const HostTensor want = run_case(c);
  ThreadPool pool(2);
  const std::byte* operands[] = {c.operands[0].bytes().data(), c.operands[1].bytes().data()};
  std::byte* results[] = {c.operands[0].bytes().data()};
  kernel->run({operands, results, nullptr, pool});
  EXPECT_TRUE(same_bits(c.operands[0], want));
}

TEST(CodegenElementwise, LargeConstantsAreWrittenWholeForEveryDType) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI64, DType::kU8}) {
    // Past the caches; lines of them are left over.
    const auto count = (std::int64_t{16} << 20) / static_cast<std::int64_t>(size_of(dtype)) + 7;
    for (const double element : {0.0, 3.0}) {
      auto body = std::make_shared<Graph>();
      const ValueId scalar =
          body->add_constant(from_doubles(dtype, {}, std::span<const double>(&element, 1)));
      const std::vector<std::int64_t> none;
      body->outputs = {
          body->add(Op::kBroadcast, {scalar}, {{Attr::kShape, {count}}, {Attr::kDims, none}})};
      const HostTensor first = from_doubles(dtype, {}, std::span<const double>(&element, 1));
      const HostTensor result = run_case(make_group(body, {}), {.threads = 2});
      const auto bytes = result.bytes();
      // The first element is right, and each other equals the one before it.
      const std::size_t size = first.bytes().size();
      ASSERT_EQ(bytes.size(), size * static_cast<std::size_t>(count));
      EXPECT_TRUE(std::memcmp(bytes.data(), first.bytes().data(), size) == 0 &&
                  std::memcmp(bytes.data() + size, bytes.data(), bytes.size() - size) == 0)
          << name_of(dtype) << " " << element;
    }
  }
}

RC_GTEST_PROP(CodegenElementwise, AnElementsBitsDoNotDependOnItsPosition, ()) {
  const auto n = *rc::gen::inRange<std::int64_t>(1, 3000);
  const auto at = *rc::gen::inRange<std::int64_t>(0, n);
  const float value = *rc::gen::arbitrary<float>();
  for (const Op op : {Op::kExp, Op::kLog, Op::kTanh, Op::kErf, Op::kRsqrt, Op::kSin}) {
    std::vector<float> x(static_cast<std::size_t>(n), 0.25F);
    x[static_cast<std::size_t>(at)] = value;
    const HostTensor many = run_case(make_case(op, {HostTensor::of({n}, x)}));
    const HostTensor one =
        run_case(make_case(op, {HostTensor::scalar(value)}), {.isa = Isa::kAvx2});
    RC_ASSERT(std::bit_cast<std::uint32_t>(many.as<float>()[static_cast<std::size_t>(at)]) ==
              std::bit_cast<std::uint32_t>(one.as<float>()[0]));
  }
}

}  // namespace
}  // namespace lockstep::cpu_test
