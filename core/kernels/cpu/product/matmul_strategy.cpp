#include <algorithm>
#include <utility>

#include "core/kernels/cpu/base/onednn.h"
#include "core/kernels/cpu/product/strategy.h"
#include "core/kernels/cpu/product/tuning.h"

namespace lockstep::product {
namespace {

MatmulShape shape_of(const Problem& p, const Part& part) {
  return {part.batches,     part.rows,        part.columns, p.k,         p.a.stored,  p.result,
          p.a.batch_stride, p.b.batch_stride, p.m * p.n,    p.a.strides, p.b.strides, p.n};
}

/// A primitive for whole parts, and one for the last if it is shorter.
class MatmulProduct final : public Strategy {
 public:
  MatmulProduct(Parts parts, std::unique_ptr<Matmul> whole, std::unique_ptr<Matmul> last)
      : parts_(parts), whole_(std::move(whole)), last_(std::move(last)) {}

  Parts parts(int /*threads*/) const override { return parts_; }

  void generate() override {
    whole_->generate();
    if (last_ != nullptr) last_->generate();
  }

  std::size_t prepared_bytes() const override { return whole_->prepared_bytes(); }
  void prepare(const Memory& whole, std::byte* prepared, std::byte* scratch) const override {
    whole_->prepare(whole.b, prepared, scratch);
  }

  std::size_t scratch_bytes(const Part& /*largest*/) const override {
    return std::max(whole_->scratch_bytes(), last_ == nullptr ? 0 : last_->scratch_bytes());
  }
  void run(const Part& part, const Memory& at, const std::byte* prepared,
           std::byte* scratch) const override {
    const Matmul& matmul = parts_.is_whole(part) ? *whole_ : *last_;
    matmul.run(at.a, prepared_bytes() > 0 ? prepared : at.b, at.c, scratch);
  }

 private:
  Parts parts_;
  std::unique_ptr<Matmul> whole_;
  std::unique_ptr<Matmul> last_;
};

/// Null if oneDNN has no such primitive.
StrategyPtr plan_matmul(const Problem& problem) {
  const Parts parts = divide(problem);
  const bool prepares = prepares_b(problem);
  const auto describe = [&](const Part& part, const Matmul* like) {
    const MatmulShape shape = shape_of(problem, part);
    return prepares ? Matmul::describe_prepared(shape, like) : Matmul::describe(shape);
  };
  std::unique_ptr<Matmul> whole = describe(parts.largest(), nullptr);
  if (whole == nullptr) return nullptr;
  const Part last_part = parts.part(parts.tasks() - 1);
  std::unique_ptr<Matmul> last;
  if (!parts.is_whole(last_part)) {
    last = describe(last_part, whole.get());
    if (last == nullptr) return nullptr;
  }
  return std::make_unique<MatmulProduct>(parts, std::move(whole), std::move(last));
}

}  // namespace

StrategyPtr plan_bf16_matmul(const Problem& problem) {
  return multiplies_bf16(problem) ? plan_matmul(problem) : nullptr;
}

StrategyPtr plan_f32_matmul(const Problem& problem) {
  const bool small = problem.m < tuning::kSmallSide || problem.n < tuning::kSmallSide;
  const bool packs = problem.batch > 1 || problem.b.strides.column != 1;
  const bool fits = problem.a.stored == DType::kF32 && problem.result == DType::kF32;
  return fits && packs && !small ? plan_matmul(problem) : nullptr;
}

}  // namespace lockstep::product
