#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/core/kernels/kernel_case.h"

namespace lockstep::cpu_test {
namespace {

struct Dims {
  Attrs::Ints lhs_batch, rhs_batch, lhs_contract, rhs_contract;
};

Case dot(DType dtype, const Shape& a, const Shape& b, Dims dims,
         std::optional<DType> to = std::nullopt) {
  Attrs attrs{{Attr::kLhsBatch, dims.lhs_batch},
              {Attr::kRhsBatch, dims.rhs_batch},
              {Attr::kLhsContract, dims.lhs_contract},
              {Attr::kRhsContract, dims.rhs_contract}};
  if (to) attrs.set_dtype(*to);
  return make_case(Op::kDotGeneral, {random_tensor(dtype, a, 1), random_tensor(dtype, b, 2)},
                   attrs);
}

TEST(CpuDot, MatrixProductsOfAllTranspositionsMatch) {
  for (const std::int64_t m : {1, 2, 65, 130})
    for (const std::int64_t n : {1, 3, 96})
      for (const std::int64_t k : {1, 7, 128}) {
        expect_correct(dot(DType::kF32, {m, k}, {k, n}, {{}, {}, {1}, {0}}), 1e-5, 1e-4);
        expect_correct(dot(DType::kF32, {k, m}, {k, n}, {{}, {}, {0}, {0}}), 1e-5, 1e-4);
        expect_correct(dot(DType::kF32, {m, k}, {n, k}, {{}, {}, {1}, {1}}), 1e-5, 1e-4);
        expect_correct(dot(DType::kF32, {k, m}, {n, k}, {{}, {}, {0}, {1}}), 1e-5, 1e-4);
      }
}

TEST(CpuDot, LargeProductsAreTheSameOnTwoThreads) {
  expect_correct(dot(DType::kF32, {768, 128}, {128, 512}, {{}, {}, {1}, {0}}), 1e-4, 1e-3);
  expect_correct(dot(DType::kF32, {768, 128}, {768, 517}, {{}, {}, {0}, {0}}), 1e-4, 1e-3);
  expect_correct(dot(DType::kF32, {600, 128}, {400, 128}, {{}, {}, {1}, {1}}), 1e-4, 1e-3);
}

TEST(CpuDot, VectorsAndScalarsAreProductsToo) {
  expect_correct(dot(DType::kF32, {31}, {31}, {{}, {}, {0}, {0}}), 1e-5, 1e-5);
  expect_correct(dot(DType::kF32, {31}, {31, 5}, {{}, {}, {0}, {0}}), 1e-5, 1e-5);
  expect_correct(dot(DType::kF32, {6}, {5}, {{}, {}, {}, {}}), 1e-5, 1e-5);
  expect_correct(dot(DType::kF32, {}, {}, {{}, {}, {}, {}}), 1e-5, 1e-5);
}

TEST(CpuDot, NothingContractedOrNothingAtAll) {
  expect_correct(dot(DType::kF32, {3, 0}, {0, 4}, {{}, {}, {1}, {0}}));
  expect_correct(dot(DType::kF32, {0, 3}, {3, 4}, {{}, {}, {1}, {0}}));
  expect_correct(dot(DType::kF32, {4096, 3}, {3, 0}, {{}, {}, {1}, {0}}));
  expect_correct(dot(DType::kF32, {0, 3, 2}, {0, 2, 3}, {{0}, {0}, {2}, {1}}));
}

TEST(CpuDot, BatchesAndHeadsCollapseToStrides) {
  // q k^T and p v on [B,T,H,D], the batch dimensions not adjacent.
  expect_correct(dot(DType::kF32, {2, 33, 4, 16}, {2, 33, 4, 16}, {{0, 2}, {0, 2}, {3}, {3}}), 1e-5,
                 1e-5);
  expect_correct(dot(DType::kF32, {2, 4, 33, 33}, {2, 33, 4, 16}, {{0, 1}, {0, 2}, {3}, {1}}), 1e-5,
                 1e-5);
  expect_correct(dot(DType::kF32, {12, 64, 32}, {12, 64, 32}, {{0}, {0}, {2}, {2}}), 1e-5, 1e-5);
  expect_correct(dot(DType::kF32, {50, 9, 8}, {50, 8, 9}, {{0}, {0}, {2}, {1}}), 1e-5, 1e-5);
  // A weight gradient over batch and time, and a projection of [B,T,C].
  expect_correct(dot(DType::kF32, {6, 20, 24}, {6, 20, 40}, {{}, {}, {0, 1}, {0, 1}}), 1e-5, 1e-4);
  expect_correct(dot(DType::kF32, {6, 20, 24}, {40, 24}, {{}, {}, {2}, {1}}), 1e-5, 1e-4);
}

TEST(CpuDot, HalfPrecisionAccumulatesInSinglePrecision) {
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    const double relative = dtype == DType::kBF16 ? 0x1p-7 : 0x1p-10;
    expect_correct(dot(dtype, {96, 70}, {70, 80}, {{}, {}, {1}, {0}}), relative, 1e-3);
    expect_correct(dot(dtype, {96, 70}, {80, 70}, {{}, {}, {1}, {1}}, DType::kF32), 1e-5, 1e-4);
    expect_correct(dot(dtype, {4, 70, 9}, {4, 70, 80}, {{0}, {0}, {1}, {1}}), relative, 1e-3);
    expect_correct(dot(dtype, {1, 70}, {70, 80}, {{}, {}, {1}, {0}}), relative, 1e-3);
    expect_correct(dot(dtype, {30, 4, 6}, {6, 4, 30}, {{}, {}, {0, 2}, {2, 0}}), relative, 1e-3);
  }
  expect_correct(dot(DType::kF32, {20, 30}, {30, 20}, {{}, {}, {1}, {0}}, DType::kBF16), 0x1p-7,
                 1e-3);
}

TEST(CpuDot, HalfPrecisionOfSeveralBlocksAndTasks) {
  // Sides that no block divides, in every layout.
  const std::int64_t m = 387, n = 517, k = 391;
  for (const DType result : {DType::kBF16, DType::kF32}) {
    const double relative = result == DType::kBF16 ? 0x1p-7 : 1e-4;
    const auto check = [&](const Shape& a, const Shape& b, std::int64_t ca, std::int64_t cb) {
      expect_correct(dot(DType::kBF16, a, b, {{}, {}, {ca}, {cb}}, result), relative, 1e-3);
    };
    check({m, k}, {k, n}, 1, 0);
    check({m, k}, {n, k}, 1, 1);
    check({k, m}, {k, n}, 0, 0);
    check({k, m}, {n, k}, 0, 1);
  }
  expect_correct(dot(DType::kBF16, {513, 777}, {777, 800}, {{}, {}, {1}, {0}}), 0x1p-7, 1e-3);
  expect_correct(dot(DType::kF16, {2, 400, 70}, {2, 390, 70}, {{0}, {0}, {2}, {2}}), 0x1p-10, 1e-3);
}

// What a processor's tiles multiply has panels of 32 lines, 128 rows and 768 of k at a time.
TEST(CpuDot, HalfPrecisionOfWholeAndPartialPanelsMatches) {
  const auto all_transpositions = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    for (const auto& [a, a_contract] : {std::pair{Shape{m, k}, 1}, {Shape{k, m}, 0}})
      for (const auto& [b, b_contract] : {std::pair{Shape{k, n}, 0}, {Shape{n, k}, 1}}) {
        const Dims dims = {{}, {}, {a_contract}, {b_contract}};
        expect_correct(dot(DType::kBF16, a, b, dims), 0x1p-7, 1e-3);
        expect_correct(dot(DType::kBF16, a, b, dims, DType::kF32), 1e-5, 1e-3);
      }
  };
  for (const std::int64_t m : {16, 49, 64, 161})
    for (const std::int64_t n : {17, 64, 95})
      for (const std::int64_t k : {1, 32, 45}) all_transpositions(m, n, k);
  all_transpositions(33, 40, 1100);
  all_transpositions(40, 570, 2060);
}

// Threads divide what tiles multiply; large f32 results are written past the caches, if they lie
// so.
TEST(CpuDot, HalfPrecisionIsTheSameOnAnyNumberOfThreads) {
  const auto check = [](std::int64_t m, std::int64_t n, std::int64_t k, DType result) {
    for (const bool transposed : {false, true}) {
      const Case c = dot(DType::kBF16, transposed ? Shape{k, m} : Shape{m, k}, {k, n},
                         {{}, {}, {transposed ? 0 : 1}, {0}}, result);
      const double relative = result == DType::kBF16 ? 0x1p-7 : 1e-5;
      expect_correct(c, relative, 1e-3);
      const std::vector<HostTensor> one = run_results(c);
      for (const int threads : {3, 5, 9})
        EXPECT_TRUE(same_bits(one, run_results(c, {.threads = threads})))
            << m << " x " << n << " x " << k << ", " << threads << " threads";
    }
  };
  for (const std::int64_t m : {544, 550})
    for (const std::int64_t n : {512, 520, 528}) check(m, n, 300, DType::kF32);
  check(1100, 256, 1100, DType::kF32);
  check(130, 1100, 800, DType::kBF16);
}

// b is packed once for parts of 400 and 382 rows, but where k makes its lines share a cache set.
TEST(CpuDot, HalfPrecisionOfManyRowsIsTheSameOnAnyNumberOfThreads) {
  const auto check = [](const Shape& b, std::int64_t contract, DType result) {
    const std::int64_t k = b[static_cast<int>(contract)];
    const Case c = dot(DType::kBF16, {782, k}, b, {{}, {}, {1}, {contract}}, result);
    expect_correct(c, result == DType::kBF16 ? 0x1p-7 : 1e-5, 1e-3);
    EXPECT_TRUE(same_bits(run_results(c), run_results(c, {.threads = 3}))) << b.to_string();
  };
  check({881, 400}, 0, DType::kF32);
  check({400, 880}, 1, DType::kBF16);
  check({340, 1024}, 1, DType::kBF16);
}

TEST(CpuDot, OperandsWhoseLinesShareACacheSetAreMultipliedInBlocks) {
  const std::int64_t k = 1030;
  expect_correct(dot(DType::kF32, {k, 512}, {k, 17}, {{}, {}, {0}, {0}}), 1e-4, 1e-3);
  expect_correct(dot(DType::kF32, {33, k}, {k, 512}, {{}, {}, {1}, {0}}), 1e-4, 1e-3);
  expect_correct(dot(DType::kF32, {k, 512}, {k, 512}, {{}, {}, {0}, {0}}), 1e-4, 1e-3);
}

TEST(CpuDot, OtherDtypesHaveAKernelToo) {
  for (const DType dtype : {DType::kF64, DType::kI32, DType::kI64})
    expect_correct(dot(dtype, {9, 12}, {12, 7}, {{}, {}, {1}, {0}}), 1e-12);
}

RC_GTEST_PROP(CpuDot, AnyArrangementOfDimensionsMatches, ()) {
  // One batch, two contracted and one free dimension a side, in any order.
  const auto size = rc::gen::inRange<std::int64_t>(0, 7);
  const std::int64_t batch = *size, k0 = *size, k1 = *size, m = *size, n = *size;
  const auto permutation = [] {
    Attrs::Ints at{0, 1, 2, 3};
    for (std::size_t i = 1; i < 4; ++i)
      std::swap(at[i],
                at[static_cast<std::size_t>(*rc::gen::inRange<int>(0, static_cast<int>(i) + 1))]);
    return at;
  };
  const Attrs::Ints pa = permutation();
  const Attrs::Ints pb = permutation();
  const auto arrange = [](const Attrs::Ints& at, std::array<std::int64_t, 4> sizes) {
    Attrs::Ints out(4);
    for (std::size_t i = 0; i < 4; ++i) out[static_cast<std::size_t>(at[i])] = sizes[i];
    return Shape(out);
  };
  expect_correct(dot(DType::kF32, arrange(pa, {batch, k0, k1, m}), arrange(pb, {batch, k0, k1, n}),
                     {{pa[0]}, {pb[0]}, {pa[1], pa[2]}, {pb[1], pb[2]}}),
                 1e-5, 1e-4);
}

}  // namespace
}  // namespace lockstep::cpu_test
