// Random choices for op cases. Sizes are drawn through rapidcheck, so that failures shrink; all
// else comes from one seed, which keeps large operands cheap.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/buffer.h"
#include "tests/core/ops/cases/op_cases.h"
#include "tests/fixtures/random_words.h"

namespace lockstep {

/// How the elements of a float operand are drawn.
enum class Fill : std::uint8_t {
  /// Small and large numbers, halves, zeros of both signs, infinities, NaN. For kGradient
  /// kDistinct.
  kWide,
  /// Uniform in [-2, 2]: for sums, whose error bounds need finite terms.
  kUnit,
  /// +-[0.5, 1.5]: products of many stay in range.
  kNearOne,
  /// A shuffled grid: elements differ by 0.25 and keep 0.1 from multiples of 1/2.
  kDistinct,
};

class Draw {
 public:
  /// Called inside a generator (rc::gen::exec).
  explicit Draw(CaseKind kind);

  bool for_gradient() const { return kind_ == CaseKind::kGradient; }
  bool is_large() const { return kind_ == CaseKind::kLarge; }

  /// Uniform in [low, high].
  std::int64_t integer(std::int64_t low, std::int64_t high) { return random_.integer(low, high); }
  double uniform(double low, double high) { return random_.uniform(low, high); }
  bool flip() { return integer(0, 1) == 1; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(integer(0, static_cast<std::int64_t>(from.size()) - 1))];
  }
  /// A shuffled 0 ... n-1.
  std::vector<std::int64_t> permutation(std::int64_t n);

  /// One of `dtypes`, the first most often; f64 if for_gradient and they are floats.
  DType dtype(const std::vector<DType>& dtypes);

  /// Mostly small, often 1, sometimes `least` (0 or 1); at most `most`. Shrinks.
  std::int64_t size(std::int64_t min = 0, std::int64_t max = 40);
  /// With a bounded number of elements; kLarge: with more than any kernel gives to one task.
  Shape shape(int min_rank = 0, int max_rank = 4);

  /// Integers and bools ignore `fill`: small numbers and the extremes.
  HostTensor tensor(DType dtype, const Shape& shape, Fill fill = Fill::kWide);
  /// Integers in [low, high].
  HostTensor integers(DType dtype, const Shape& shape, std::int64_t low, std::int64_t high);

 private:
  double real(Fill fill);
  std::int64_t any_integer(DType dtype);

  CaseKind kind_;
  RandomWords random_;
};

/// The dtypes of an op's operands, f64 aside (see Draw::dtype).
inline const std::vector<DType> kFloats = {DType::kF32, DType::kBF16, DType::kF16};
inline const std::vector<DType> kIntegers = {DType::kI32, DType::kI64, DType::kU8};
inline const std::vector<DType> kNumbers = {DType::kF32, DType::kBF16, DType::kF16,
                                            DType::kI32, DType::kI64,  DType::kU8};
inline const std::vector<DType> kNonFloats = {DType::kI32, DType::kI64, DType::kU8, DType::kBool};
inline const std::vector<DType> kAllDTypes = {DType::kF32, DType::kBF16, DType::kF16, DType::kI32,
                                              DType::kI64, DType::kU8,   DType::kBool};

}  // namespace lockstep
