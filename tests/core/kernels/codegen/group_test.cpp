// Groups with reductions and several results, against the reference.
#include "core/ir/group.h"

#include <gtest/gtest.h>

#include "core/ir/text.h"
#include "tests/core/kernels/kernel_case.h"
#include "tests/fixtures/tested_target.h"

namespace lockstep::cpu_test {
namespace {

/// A group from the text of its body, with R rows and C columns for every "R" and "C" in brackets.
/// Operands are uniform in [-2, 2).
Case group_of(std::string text, const Shape& domain, int axis) {
  const auto put = [&](const std::string& from, std::int64_t size) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at))
      text.replace(at, from.size(), std::to_string(size));
  };
  put("R", domain[0]);
  if (domain.rank() > 1) put("C", domain[1]);
  auto body = std::make_shared<const Graph>(parse(text, "group.ir"));
  std::vector<HostTensor> operands;
  for (const ValueId input : body->inputs) {
    const Type& type = (*body)[input].type;
    operands.push_back(random_tensor(type.dtype, type.shape, operands.size() + 1));
  }
  Case out = make_group(body, domain, axis, std::move(operands));
  EXPECT_EQ(find_group_error(out.node), "");
  return out;
}

const std::string kSoftmax =
    "%x = f32[R,C] input()\n"
    "%max = f32[R] reduce_max(%x) {dims=[1]}\n"
    "%maxes = f32[R,C] broadcast(%max) {shape=[R,C], dims=[0]}\n"
    "%d = f32[R,C] subtract(%x, %maxes)\n"
    "%e = f32[R,C] exp(%d)\n"
    "%sum = f32[R] reduce_sum(%e) {dims=[1]}\n"
    "%sums = f32[R,C] broadcast(%sum) {shape=[R,C], dims=[0]}\n"
    "%y = f32[R,C] divide(%e, %sums)\n"
    "return %y";

constexpr std::int64_t kWidths[] = {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 384, 1000};

TEST(CodegenGroup, SoftmaxOfRowsOfAnyLengthMatches) {
  for (const std::int64_t columns : kWidths)
    expect_correct(group_of(kSoftmax, {7, columns}, 1), 2e-6, 1e-7);
  expect_correct(group_of(kSoftmax, {3, 50304}, 1), 2e-6, 1e-7);
}

TEST(CodegenGroup, RowsAndColumnsMayBeMissing) {
  expect_correct(group_of(kSoftmax, {0, 5}, 1));
  const std::string sums =
      "%x = f32[R,C] input()\n%row = f32[R] reduce_max(%x) {dims=[1]}\n"
      "%column = f32[C] reduce_sum(%x) {dims=[0]}\n%total = f32[] reduce_sum(%x) {dims=[0,1]}\n"
      "return %row, %column, %total";
  for (const Shape& domain : {Shape{0, 5}, Shape{5, 0}, Shape{0, 0}, Shape{1, 1}, Shape{200, 1}})
    expect_correct(group_of(sums, domain, 1), 1e-6, 1e-5);
}

const std::string kLayerNorm =
    "%x = f32[R,C] input()\n%gamma = f32[C] input()\n"
    "%beta = f32[C] input()\n"
    "%n = f32[] constant() {value=C}\n%ns = f32[R] broadcast(%n) {shape=[R], dims=[]}\n"
    "%eps = f32[] constant() {value=1e-05}\n%epss = f32[R] broadcast(%eps) {shape=[R], dims=[]}\n"
    "%sum = f32[R] reduce_sum(%x) {dims=[1]}\n%mean = f32[R] divide(%sum, %ns)\n"
    "%means = f32[R,C] broadcast(%mean) {shape=[R,C], dims=[0]}\n"
    "%d = f32[R,C] subtract(%x, %means)\n%dd = f32[R,C] multiply(%d, %d)\n"
    "%square = f32[R] reduce_sum(%dd) {dims=[1]}\n%var = f32[R] divide(%square, %ns)\n"
    "%vare = f32[R] add(%var, %epss)\n%inv = f32[R] rsqrt(%vare)\n"
    "%invs = f32[R,C] broadcast(%inv) {shape=[R,C], dims=[0]}\n"
    "%h = f32[R,C] multiply(%d, %invs)\n"
    "%g = f32[R,C] broadcast(%gamma) {shape=[R,C], dims=[1]}\n"
    "%b = f32[R,C] broadcast(%beta) {shape=[R,C], dims=[1]}\n"
    "%hg = f32[R,C] multiply(%h, %g)\n%y = f32[R,C] add(%hg, %b)\n"
    "return %y, %mean, %inv";

TEST(CodegenGroup, LayerNormGivesItsMeansToo) {
  for (const std::int64_t columns : kWidths)
    expect_correct(group_of(kLayerNorm, {37, columns}, 1), 1e-5, columns == 1 ? 2e-3 : 2e-5);
}

const std::string kLayerNormGrad =
    "%dy = f32[R,C] input()\n%x = f32[R,C] input()\n"
    "%gamma = f32[C] input()\n%mean = f32[R] input()\n"
    "%inv = f32[R] input()\n%n = f32[] constant() {value=C}\n"
    "%ns = f32[R] broadcast(%n) {shape=[R], dims=[]}\n"
    "%means = f32[R,C] broadcast(%mean) {shape=[R,C], dims=[0]}\n"
    "%invs = f32[R,C] broadcast(%inv) {shape=[R,C], dims=[0]}\n"
    "%g = f32[R,C] broadcast(%gamma) {shape=[R,C], dims=[1]}\n"
    "%d = f32[R,C] subtract(%x, %means)\n%h = f32[R,C] multiply(%d, %invs)\n"
    "%dyh = f32[R,C] multiply(%dy, %h)\n%dgamma = f32[C] reduce_sum(%dyh) {dims=[0]}\n"
    "%dbeta = f32[C] reduce_sum(%dy) {dims=[0]}\n%dh = f32[R,C] multiply(%dy, %g)\n"
    "%s1 = f32[R] reduce_sum(%dh) {dims=[1]}\n%m1 = f32[R] divide(%s1, %ns)\n"
    "%dhh = f32[R,C] multiply(%dh, %h)\n%s2 = f32[R] reduce_sum(%dhh) {dims=[1]}\n"
    "%m2 = f32[R] divide(%s2, %ns)\n%m1s = f32[R,C] broadcast(%m1) {shape=[R,C], dims=[0]}\n"
    "%m2s = f32[R,C] broadcast(%m2) {shape=[R,C], dims=[0]}\n%a = f32[R,C] subtract(%dh, %m1s)\n"
    "%hm = f32[R,C] multiply(%h, %m2s)\n%c = f32[R,C] subtract(%a, %hm)\n"
    "%dx = f32[R,C] multiply(%c, %invs)\nreturn %dx, %dgamma, %dbeta";

TEST(CodegenGroup, LayerNormsGradientSumsColumnsInTheSamePass) {
  for (const std::int64_t columns : {1, 5, 16, 65, 384})
    expect_correct(group_of(kLayerNormGrad, {300, columns}, 1), 2e-5, 2e-4);
}

TEST(CodegenGroup, CrossEntropySelectsTheLabelAndSumsTheLoss) {
  const std::string text =
      "%x = f32[R,C] input()\n%label = i32[R] input()\n"
      "%max = f32[R] reduce_max(%x) {dims=[1]}\n"
      "%maxes = f32[R,C] broadcast(%max) {shape=[R,C], dims=[0]}\n"
      "%d = f32[R,C] subtract(%x, %maxes)\n%e = f32[R,C] exp(%d)\n"
      "%sum = f32[R] reduce_sum(%e) {dims=[1]}\n%log = f32[R] log(%sum)\n"
      "%at = i32[R,C] iota() {shape=[R,C], axis=1, to=i32}\n"
      "%labels = i32[R,C] broadcast(%label) {shape=[R,C], dims=[0]}\n"
      "%hit = bool[R,C] equal(%at, %labels)\n%zero = f32[] constant() {value=0}\n"
      "%zeros = f32[R,C] broadcast(%zero) {shape=[R,C], dims=[]}\n"
      "%picked = f32[R,C] select(%hit, %d, %zeros)\n%score = f32[R] reduce_sum(%picked) "
      "{dims=[1]}\n"
      "%loss = f32[R] subtract(%log, %score)\n%total = f32[] reduce_sum(%loss) {dims=[0]}\n"
      "%best = i32[R] arg_max(%x) {axis=1}\nreturn %loss, %total, %best";
  for (const std::int64_t columns : {3, 65, 200}) {
    Case c = group_of(text, {50, columns}, 1);
    auto labels = c.operands[1].as<std::int32_t>();
    for (std::size_t i = 0; i < labels.size(); ++i)
      labels[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) % columns);
    expect_correct(c, 2e-6, 2e-6);
  }
}

TEST(CodegenGroup, HalfPrecisionMembersRoundAfterEveryOp) {
  const std::string text =
      "%x = bf16[R,C] input()\n%b = bf16[C] input()\n"
      "%bs = bf16[R,C] broadcast(%b) {shape=[R,C], dims=[1]}\n%s = bf16[R,C] add(%x, %bs)\n"
      "%m = bf16[R,C] multiply(%s, %s)\n%t = bf16[R,C] add(%m, %x)\n"
      "%sum = bf16[R] reduce_sum(%t) {dims=[1]}\n%columns = bf16[C] reduce_sum(%t) {dims=[0]}\n"
      "%wide = f32[R,C] convert(%t) {to=f32}\n%total = f32[] reduce_sum(%wide) {dims=[0,1]}\n"
      "return %t, %sum, %columns, %total";
  for (const char* dtype : {"bf16", "f16"}) {
    std::string own = text;
    for (std::size_t at = own.find("bf16"); at != std::string::npos; at = own.find("bf16", at + 1))
      own.replace(at, 4, dtype);
    for (const std::int64_t columns : {1, 16, 77, 256}) {
      const Case c = group_of(own, {130, columns}, 1);
      // Elements are exact; sums may round to the neighbour.
      const auto want = evaluate_reference_node(c.node, c.operands);
      EXPECT_TRUE(same_bits(run_results(c)[0], want[0])) << dtype << " " << columns;
      expect_correct(c, 0x1p-7, 0x1p-7);
    }
  }
}

TEST(CodegenGroup, RowsMayHaveSeveralDimensionsAndOperandsAnyView) {
  const std::string text =
      "%x = f32[4,3,5,6] input()\n%h = f32[3] input()\n"
      "%k = f32[4,1,1,6] input()\n%w = f32[5] input()\n"
      "%hs = f32[4,3,5,6] broadcast(%h) {shape=[4,3,5,6], dims=[1]}\n"
      "%ks = f32[4,3,5,6] broadcast(%k) {shape=[4,3,5,6], dims=[0,1,2,3]}\n"
      "%ws = f32[4,3,5,6] broadcast(%w) {shape=[4,3,5,6], dims=[2]}\n"
      "%a = f32[4,3,5,6] multiply(%x, %hs)\n%b = f32[4,3,5,6] add(%a, %ks)\n"
      "%c = f32[4,3,5,6] multiply(%b, %ws)\n";
  expect_correct(
      group_of(text + "%m = f32[4,3] reduce_max(%c) {dims=[2,3]}\nreturn %c, %m", {4, 3, 5, 6}, 2));
  expect_correct(
      group_of(text + "%m = f32[3,5,6] reduce_sum(%c) {dims=[0]}\nreturn %c, %m", {4, 3, 5, 6}, 1));
  expect_correct(
      group_of(text + "%m = f32[] reduce_sum(%c) {dims=[0,1,2,3]}\nreturn %c, %m", {4, 3, 5, 6}, 4),
      1e-6, 1e-5);
  expect_correct(group_of(text + "return %c", {4, 3, 5, 6}, 4));
}

TEST(CodegenGroup, ReductionsOfEveryDtypeMatch) {
  for (const DType dtype : {DType::kF32, DType::kI32, DType::kI64, DType::kU8})
    for (const char* op : {"reduce_sum", "reduce_max", "reduce_min", "reduce_product"})
      for (const std::int64_t columns : {1, 20, 100}) {
        const std::string d(name_of(dtype));
        expect_correct(
            group_of("%x = " + d + "[R,C] input()\n%y = " + d + "[R] " + op +
                         "(%x) {dims=[1]}\n%s = " + d + "[C] reduce_sum(%x) {dims=[0]}\n%t = " + d +
                         "[] reduce_sum(%x) {dims=[0,1]}\nreturn %y, %s, %t",
                     {70, columns}, 1),
            1e-5, 1e-4);
      }
}

TEST(CodegenGroup, AResultMayTakeTheMemoryOfWhatNoLaterPhaseReads) {
  const Case norm = group_of(kLayerNorm, {4, 32}, 1);
  const auto forward = shared_kernel(norm.node, norm.types(), tested_target().isa);
  EXPECT_TRUE(forward->may_alias(0, 0));   // y over x, read last where y is written
  EXPECT_FALSE(forward->may_alias(0, 1));  // gamma is read by every row
  EXPECT_FALSE(forward->may_alias(1, 0));
  const Case early = group_of(
      "%x = f32[R,C] input()\n%y = f32[R,C] exp(%x)\n"
      "%s = f32[R] reduce_sum(%x) {dims=[1]}\n"
      "%ss = f32[R,C] broadcast(%s) {shape=[R,C], dims=[0]}\n%z = f32[R,C] subtract(%x, %ss)\n"
      "return %y, %z",
      {4, 32}, 1);
  const auto kernel = shared_kernel(early.node, early.types(), tested_target().isa);
  EXPECT_FALSE(kernel->may_alias(0, 0));  // y is written before z reads x again
  EXPECT_TRUE(kernel->may_alias(1, 0));
}

TEST(CodegenGroup, AConcatenationMayTakeTheMemoryOfWhatItsPartsAreReadFrom) {
  const auto turn = [](int begin) {
    return group_of(
        fmt::format("%x = f32[7,80] input()\n"
                    "%a = f32[7,40] slice(%x) {{start=[0,{}], limit=[7,{}], stride=[1,1]}}\n"
                    "%b = f32[7,40] slice(%x) {{start=[0,40], limit=[7,80], stride=[1,1]}}\n"
                    "%d = f32[7,40] subtract(%a, %b)\n%s = f32[7,40] add(%b, %a)\n"
                    "%y = f32[7,80] concatenate(%d, %s) {{axis=1}}\nreturn %y",
                    begin, begin + 40),
        {7, 40}, 2);
  };
  const Case shifted = turn(1);
  EXPECT_FALSE(shared_kernel(shifted.node, shifted.types(), tested_target().isa)->may_alias(0, 0));
  const Case halves = turn(0);
  const auto kernel = shared_kernel(halves.node, halves.types(), tested_target().isa);
  ASSERT_TRUE(kernel->may_alias(0, 0));
  flush_denormals();
  const HostTensor want = run_case(halves);
  ThreadPool pool(2);
  const std::byte* operands[] = {halves.operands[0].bytes().data()};
  std::byte* results[] = {halves.operands[0].bytes().data()};
  kernel->run({operands, results, nullptr, pool});
  EXPECT_TRUE(same_bits(halves.operands[0], want));
}

}  // namespace
}  // namespace lockstep::cpu_test
