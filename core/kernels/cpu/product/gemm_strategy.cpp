#include "core/kernels/cpu/base/onednn.h"
#include "core/kernels/cpu/product/strategy.h"

namespace lockstep::product {
namespace {

class GemmProduct final : public Strategy {
 public:
  explicit GemmProduct(const Problem& problem) : p_(problem) {}

  Parts parts(int /*threads*/) const override { return divide(p_); }

  void run(const Part& part, const Memory& at, const std::byte* /*prepared*/,
           std::byte* /*scratch*/) const override {
    for (std::int64_t i = 0; i < part.batches; ++i) {
      const Memory one = p_.at(at, i, 0, 0);
      gemm_f32(part.rows, part.columns, p_.k, 1.0F, reinterpret_cast<const float*>(one.a),
               p_.a.strides, reinterpret_cast<const float*>(one.b), p_.b.strides, 0.0F,
               reinterpret_cast<float*>(one.c), p_.n);
    }
  }

 private:
  Problem p_;
};

}  // namespace

StrategyPtr plan_gemm(const Problem& problem) {
  const bool fits = problem.a.stored == DType::kF32 && problem.result == DType::kF32;
  return fits ? std::make_unique<GemmProduct>(problem) : nullptr;
}

}  // namespace lockstep::product
