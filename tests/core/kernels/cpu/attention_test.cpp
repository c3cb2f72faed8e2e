#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>

#include "tests/core/kernels/kernel_case.h"
#include "tests/fixtures/tested_target.h"

namespace lockstep::cpu_test {
namespace {

struct Attention {
  std::int64_t batch = 2, queries = 8, keys = 8, heads = 2, depth = 4;
  std::int64_t group = 1;  ///< heads of queries for each of keys
  bool causal = false;
  bool masked = false;
  std::int32_t segments = 0;  ///< in place of a mask: how many; some elements are of none
  double dropout = 0;
  DType dtype = DType::kF32;
};

/// Runs of numbers up to `count`, and of -1 and 0 between them.
HostTensor some_segments(const Shape& shape, std::int32_t count) {
  constexpr std::int64_t kRun = 5;
  std::vector<std::int32_t> out(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) / kRun % (count + 2)) - 1;
  return HostTensor::of(shape, out);
}

/// Attention and its gradient agree with the reference.
void expect_attention(const Attention& a, double relative = 1e-4, double absolute = 1e-5) {
  Attrs attrs{{Attr::kCausal, {a.causal ? 1 : 0}},
              {Attr::kMasked, {a.masked || a.segments > 0 ? 1 : 0}}};
  attrs.set_float(Attr::kScale, std::min(0.4, 1 / std::sqrt(static_cast<double>(a.depth))));
  attrs.set_float(Attr::kDropout, a.dropout);
  if (a.dropout > 0) attrs.set_int(Attr::kStream, 4711);
  const Shape q{a.batch, a.queries, a.heads, a.depth};
  const Shape k{a.batch, a.keys, a.heads / a.group, a.depth};
  const std::vector<HostTensor> tensors = {
      random_tensor(a.dtype, q, 1), random_tensor(a.dtype, k, 2), random_tensor(a.dtype, k, 3)};
  std::vector<HostTensor> extras;
  if (a.masked) extras.push_back(random_tensor(DType::kBool, {a.batch, a.keys}, 4));
  if (a.segments > 0) extras.push_back(some_segments(Shape{a.batch, a.keys}, a.segments));
  if (a.dropout > 0)
    for (const std::int64_t v : {5, 6, 7}) extras.push_back(HostTensor::scalar<std::int64_t>(v));

  std::vector<HostTensor> operands = tensors;
  operands.insert(operands.end(), extras.begin(), extras.end());
  const Case forward = make_case(Op::kAttention, operands, attrs);
  expect_correct(forward, relative, absolute);

  operands = tensors;
  operands.push_back(evaluate_reference_node(forward.node, forward.operands)[0]);
  operands.push_back(random_tensor(a.dtype, q, 8));
  operands.insert(operands.end(), extras.begin(), extras.end());
  expect_correct(make_case(Op::kAttentionGrad, operands, attrs), relative, 4 * absolute);
}

TEST(CpuAttention, MatchesTheReferenceOverSeveralTiles) {
  for (const bool causal : {false, true})
    for (const double dropout : {0.0, 0.2})
      expect_attention({.queries = 130, .keys = 130, .causal = causal, .dropout = dropout});
}

TEST(CpuAttention, GptMicroShapeIsTheSameOnTwoThreads) {
  expect_attention(
      {.batch = 12, .queries = 64, .keys = 64, .heads = 4, .depth = 32, .causal = true}, 1e-4,
      5e-5);
}

TEST(CpuAttention, NotANumberInAQueryReachesItsRowAndNoOther) {
  // Of any payload: it must not be mistaken for an exponent.
  for (const std::uint32_t bits : {0x7fc00000U, 0xffc00000U, 0x7fc00001U, 0x7fffffffU}) {
    const Shape shape{1, 5, 1, 8};
    HostTensor q = random_tensor(DType::kF32, shape, 1);
    q.as<float>()[3 * 8 + 2] = std::bit_cast<float>(bits);
    Attrs attrs{{Attr::kCausal, {0}}, {Attr::kMasked, {0}}};
    attrs.set_float(Attr::kScale, 0.4);
    attrs.set_float(Attr::kDropout, 0);
    const Case attention = make_case(
        Op::kAttention,
        {q, random_tensor(DType::kF32, shape, 2), random_tensor(DType::kF32, shape, 3)}, attrs);
    for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
      if (isa > tested_target().isa) continue;
      const HostTensor out = run_case(attention, {.isa = isa});
      for (std::size_t j = 0; j < 5 * 8; ++j)
        EXPECT_EQ(std::isnan(out.as<const float>()[j]), j / 8 == 3) << bits << " at " << j;
    }
  }
}

TEST(CpuAttention, WholePanelsOfKeysMatch) {
  for (const std::int64_t depth : {32, 64})
    expect_attention({.queries = 96, .keys = 96, .depth = depth, .causal = true}, 1e-4, 5e-5);
  for (const std::int64_t length : {96, 128, 200})
    expect_attention({.queries = length,
                      .keys = length,
                      .depth = 64,
                      .causal = length != 128,
                      .dropout = 0.1,
                      .dtype = DType::kBF16},
                     0x1p-6, 0x1p-6);
}

TEST(CpuAttention, MasksAndCrossLengthsMatch) {
  expect_attention({.queries = 7, .keys = 45, .masked = true});
  expect_attention({.queries = 7, .keys = 45, .causal = true, .masked = true, .dropout = 0.3});
  expect_attention({.queries = 45, .keys = 45, .segments = 3});
  expect_attention({.queries = 130, .keys = 130, .causal = true, .segments = 4, .dropout = 0.3});
  expect_attention({.queries = 70, .keys = 70, .segments = 2, .dtype = DType::kBF16}, 0x1p-6,
                   0x1p-7);
  // More queries than keys: the first ones see nothing and give zero.
  expect_attention({.queries = 90, .keys = 20, .causal = true});
}

/// [B,T,3,H,D] of three [B,T,H,D], or of three of them flattened one after the other.
HostTensor pack(const std::vector<double>& parts, DType dtype, const Shape& packed) {
  const auto row = static_cast<std::size_t>(packed[3] * packed[4]);
  std::vector<double> out(parts.size());
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = parts[i / row % 3 * (out.size() / 3) + i / row / 3 * row + i % row];
  return from_doubles(dtype, packed, out);
}

/// Slices of a [B,T,3,H,D] array give the bits of three arrays, and both the reference's results.
void expect_slices_agree(DType dtype, const Shape& shape) {
  const Shape packed{shape[0], shape[1], 3, shape[2], shape[3]};
  Attrs attrs{{Attr::kCausal, {1}}};
  attrs.set_float(Attr::kScale, 0.4);
  attrs.set_float(Attr::kDropout, 0.0);
  std::vector<HostTensor> parts;
  std::vector<double> all;
  for (const std::uint64_t seed : {1, 2, 3}) {
    parts.push_back(random_tensor(dtype, shape, seed));
    const auto values = to_doubles(parts.back());
    all.insert(all.end(), values.begin(), values.end());
  }
  const HostTensor qkv = pack(all, dtype, packed);
  const Case forward = make_case(Op::kAttention, {qkv}, attrs);
  expect_correct(forward, 0x1p-5, 0x1p-7);
  const HostTensor out = run_case(make_case(Op::kAttention, parts, attrs));
  EXPECT_TRUE(same_bits(run_case(forward), out));

  const HostTensor dout = random_tensor(dtype, shape, 4);
  parts.insert(parts.end(), {out, dout});
  const HostTensor gradients = run_case(make_case(Op::kAttentionGrad, parts, attrs));
  const Case backward = make_case(Op::kAttentionGrad, {qkv, out, dout}, attrs);
  expect_correct(backward, 0x1p-5, 0x1p-5);
  EXPECT_TRUE(same_bits(run_case(backward), pack(to_doubles(gradients), dtype, packed)));
}

TEST(CpuAttention, SlicesOfOneOperandGiveTheSameBits) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64}) {
    expect_slices_agree(dtype, {2, 70, 3, 5});
    expect_slices_agree(dtype, {1, 96, 2, 32});
  }
}

TEST(CpuAttention, HeadsMayShareKeysAndValues) {
  for (const std::int64_t group : {2, 4}) {
    expect_attention({.queries = 130, .keys = 130, .heads = 4, .group = group, .causal = true});
    expect_attention(
        {.queries = 20, .keys = 70, .heads = 4, .group = group, .masked = true, .dropout = 0.2});
    expect_attention(
        {.queries = 1, .keys = 70, .heads = 4, .depth = 16, .group = group, .masked = true});
    expect_attention(
        {.queries = 40, .keys = 40, .heads = 4, .depth = 32, .group = group, .dtype = DType::kBF16},
        0x1p-6, 0x1p-7);
  }
}

TEST(CpuAttention, SizesZeroAndOne) {
  expect_attention({.batch = 1, .queries = 1, .keys = 1, .heads = 1, .depth = 1});
  expect_attention({.batch = 0});
  expect_attention({.queries = 0});
  expect_attention({.keys = 0});
  expect_attention({.depth = 0});
}

TEST(CpuAttention, OtherFloatsHaveAKernel) {
  expect_attention({.queries = 40, .keys = 40, .causal = true, .dtype = DType::kBF16}, 0x1p-6,
                   0x1p-7);
  expect_attention({.causal = true, .dtype = DType::kF64}, 1e-12, 1e-12);
}

RC_GTEST_PROP(CpuAttention, AnySettingMatches, ()) {
  const auto pick = [](std::int64_t low, std::int64_t high) {
    return *rc::gen::inRange<std::int64_t>(low, high + 1);
  };
  const bool half = pick(0, 1) == 1;
  // A score's gradient subtracts dout . out, whose result was rounded: a sum of up to 70 products
  // of at most 2^-9 times elements of about 1, 2 where half are dropped, times scale and a query.
  constexpr double kHalfGradient = 0x1p-5;
  expect_attention({.batch = pick(1, 3),
                    .queries = pick(1, 70),
                    .keys = pick(1, 70),
                    .heads = 3,
                    .depth = half ? pick(1, 70) : pick(1, 9),
                    .group = pick(0, 1) == 1 ? 3 : 1,
                    .causal = pick(0, 1) == 1,
                    .masked = pick(0, 1) == 1,
                    .dropout = 0.25 * static_cast<double>(pick(0, 2)),
                    .dtype = half ? DType::kBF16 : DType::kF32},
                   half ? 0x1p-6 : 1e-4, half ? kHalfGradient : 1e-5);
}

}  // namespace
}  // namespace lockstep::cpu_test
