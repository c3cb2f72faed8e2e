#include <algorithm>

#include "core/kernels/cpu/product/strategy.h"
#include "core/kernels/cpu/product/tile_product.h"
#include "core/kernels/cpu/product/tuning.h"

namespace lockstep::product {
namespace {

/// Batches are divided by the shape; a single product by threads: sums of tiles have one order for
/// every division of it.
class TiledProduct final : public Strategy {
 public:
  explicit TiledProduct(const Problem& p)
      : p_(p), product_(p.a.strides, p.b.strides, p.k, p.result, p.n) {}

  Parts parts(int threads) const override {
    if (p_.batch > 1) return divide(p_);
    const std::int64_t tasks = std::min<std::int64_t>(threads, max_tasks());
    Parts out = undivided(p_);
    Grid& longer = p_.m >= p_.n ? out.rows : out.columns;
    longer.step = even_step(longer.size, (longer.size + tasks - 1) / tasks, TileProduct::kSide);
    return out;
  }
  bool divides_by_threads() const override { return true; }

  std::size_t scratch_bytes(const Part& largest) const override {
    return product_.scratch_bytes(largest.rows, largest.columns);
  }
  void run(const Part& part, const Memory& at, const std::byte* /*prepared*/,
           std::byte* scratch) const override {
    for (std::int64_t i = 0; i < part.batches; ++i) {
      const Memory one = p_.at(at, i, 0, 0);
      product_.run(part.rows, part.columns, one.a, one.b, one.c, scratch);
    }
  }

 private:
  std::int64_t max_tasks() const {
    const std::int64_t by_work =
        std::min(p_.m * p_.n * p_.k / tuning::tiles::kPartWork, tuning::tiles::kMaxTasks);
    return std::clamp<std::int64_t>(std::max(p_.m, p_.n) / tuning::tiles::kPartSide, 1,
                                    std::max<std::int64_t>(by_work, 1));
  }

  Problem p_;
  TileProduct product_;
};

}  // namespace

StrategyPtr plan_tiles(const Problem& p) {
  const bool fits = p.target.bf16 == Bf16Units::kTiles && multiplies_bf16(p) &&
                    p.m >= tuning::tiles::kMinSide && p.n >= tuning::tiles::kMinSide &&
                    TileProduct::available();
  return fits ? std::make_unique<TiledProduct>(p) : nullptr;
}

}  // namespace lockstep::product
