#include <cstring>

#include "core/kernels/cpu/product/strategy.h"

namespace lockstep::product {
namespace {

class EmptyProduct final : public Strategy {
 public:
  explicit EmptyProduct(const Problem& p)
      : bytes_(static_cast<std::size_t>(p.batch * p.m * p.n) * size_of(p.result)) {}

  Parts parts(int /*threads*/) const override { return {{1, 1}, {1, 1}, {1, 1}}; }
  bool divides_by_threads() const override { return true; }

  void run(const Part& /*part*/, const Memory& at, const std::byte* /*prepared*/,
           std::byte* /*scratch*/) const override {
    if (bytes_ > 0) std::memset(at.c, 0, bytes_);
  }

 private:
  std::size_t bytes_;
};

}  // namespace

StrategyPtr plan_empty(const Problem& problem) {
  return problem.is_empty() ? std::make_unique<EmptyProduct>(problem) : nullptr;
}

}  // namespace lockstep::product
