// Attention and its gradient without a T x T tensor: for every head, tiles of kTile queries against
// all keys they can see, whose scores live in scratch. Keys that a block of queries cannot see are
// skipped. Operands are packed per head, so that products run on dense panels whatever the strides
// of q, k and v; q, k and v may be slices of one array. The gradient recomputes the weights of a
// tile and adds to dk and dv in the order of the tiles, so it is divided over heads only; the
// forward pass is divided over heads and chunks of queries.
//
// Method: T. Dao et al., "FlashAttention: Fast and Memory-Efficient Exact Attention with
// IO-Awareness" (2022), with whole rows of scores, since a row fits the cache.
#include <algorithm>

#include "core/kernels/base/grid.h"
#include "core/kernels/cpu/attention_loops.h"
#include "core/kernels/cpu/attention_tile.h"
#include "core/kernels/cpu/base/scratch_slots.h"
#include "core/kernels/cpu/kernels.h"
#include "core/kernels/cpu/product/tile_loops.h"
#include "core/kernels/cpu/single_query.h"

namespace lockstep {
namespace {

using attention::Extras;
using attention::Factors;
using attention::kPanel;
using attention::kTile;
using attention::load_segments;
using attention::Problem;
using attention::Rows;
using attention::Tile;
using attention::Unit;
using attention::Workspace;

constexpr std::int64_t kChunk = 256;  ///< queries of a forward unit
/// Multiply-adds that make a task worth handing to a thread.
constexpr std::int64_t kAttentionTaskWork = std::int64_t{1} << 21;

class AttentionKernel : public Kernel {
 public:
  AttentionKernel(const Node& node, Types operands, const Target& target, bool backward)
      : p_(node, operands),
        isa_(target.isa),
        loops_(attention_loops(target, node.type.dtype)),
        backward_(backward),
        task_bytes_(Workspace(p_, loops_.pair, backward, nullptr).bytes) {}

  WorkClass work() const override { return WorkClass::kAttention; }

  std::size_t scratch_bytes() const override {
    return task_bytes_ * static_cast<std::size_t>(grid().tasks());
  }

  void run(const KernelCall& call) const override {
    const auto tensors = static_cast<std::size_t>(p_.tensors() + (backward_ ? 2 : 0));
    const Extras extras(p_, call.operands.subspan(tensors));
    const Grid grid = this->grid();
    ScratchSlots slots(call.scratch, task_bytes_);
    call.pool.parallel_for(grid.tasks(), [&](std::int64_t task) {
      const ScratchSlots::Slot slot(slots);
      const Workspace w(p_, loops_.pair, backward_, slot.memory());
      if (loops_.enter != nullptr) loops_.enter();
      for (std::int64_t unit = grid.begin(task); unit < grid.end(task); ++unit)
        run_unit(unit, call, extras, w);
      if (loops_.leave != nullptr) loops_.leave();
    });
  }

 protected:
  virtual Grid grid() const = 0;
  virtual void run_unit(std::int64_t unit, const KernelCall& call, const Extras& extras,
                        const Workspace& w) const = 0;

  static Grid divide(std::int64_t units, std::int64_t work_per_unit) {
    return make_grid(units, kAttentionTaskWork / std::max<std::int64_t>(work_per_unit, 1), 1,
                     kMaxScratchTasks);
  }
  /// q, k or v: part 0, 1 or 2.
  Rows<const std::byte> operand(const KernelCall& call, std::int64_t unit,
                                std::int64_t part) const {
    const std::byte* array = call.operands[p_.packed ? 0 : static_cast<std::size_t>(part)];
    return part_rows(p_, array, unit, part);
  }
  /// Fetches the part of x's rows, of which there are `length`, that belongs to the tile at
  /// `first`.
  template <class Byte>
  void fetch(const Rows<Byte>& x, std::int64_t first, std::int64_t length,
             Prefetcher& prefetcher) const {
    if (first < length)
      prefetcher.add(x.at(first), x.stride * x.bytes, std::min(kTile, length - first),
                     p_.depth * x.bytes);
  }
  /// Fetches the data read after the tile at `first`: by_tile(unit, first) for the next one, and a
  /// share of the next head's keys and values.
  template <class F>
  void fetch_next(const KernelCall& call, std::int64_t unit, std::int64_t first,
                  Prefetcher& prefetcher, const F& by_tile) const {
    const bool last_head = unit + 1 == p_.batch * p_.heads;
    if (first + kTile < p_.queries) {
      by_tile(unit, first + kTile);
    } else if (!last_head) {
      by_tile(unit + 1, 0);
    }
    for (std::int64_t part = 1; part < 3 && !last_head; ++part)
      fetch(operand(call, unit + 1, part), first, p_.keys, prefetcher);
  }

  /// Units of all keys up to `keys`, padded to whole panels.
  struct KeyRows {
    const Unit* rows;
    std::int64_t stride;
    std::int64_t count;
  };
  /// In place if products can use them unchanged, else in w.rows.
  KeyRows key_rows(const Rows<const std::byte>& x, std::int64_t keys, const Workspace& w) const {
    const std::int64_t count = round_up(keys, kPanel);
    if (p_.has_unit_rows(loops_.pair) && count == keys)
      return {reinterpret_cast<const Unit*>(x.data), x.stride / loops_.pair, count};
    loops_.load_rows(p_.dtype, x.data, x.stride, keys, count, p_.depth, w.rows);
    return {w.rows, p_.depth_units(loops_.pair), count};
  }
  void transpose(const KeyRows& x, Unit* to) const {
    loops_.transpose(x.rows, x.stride, x.count, p_.depth_units(loops_.pair), to);
  }
  void interleave(const KeyRows& x, Unit* to) const {
    loops_.interleave(x.rows, x.stride, x.count, p_.depth_units(loops_.pair), to);
  }

  Problem p_;
  Isa isa_;
  const AttentionLoops& loops_;
  bool backward_;

 private:
  std::size_t task_bytes_;
};

/// A unit is a chunk of queries of one head.
class ForwardKernel final : public AttentionKernel {
 public:
  ForwardKernel(const Node& node, Types operands, const Target& target)
      : AttentionKernel(node, operands, target, false) {}

 protected:
  Grid grid() const override {
    return divide(p_.batch * p_.heads * chunks(),
                  2 * std::min(kChunk, p_.queries) * p_.keys * p_.depth);
  }

  void run_unit(std::int64_t index, const KernelCall& call, const Extras& extras,
                const Workspace& w) const override {
    const std::int64_t unit = index / chunks();
    const std::int64_t begin = index % chunks() * kChunk;
    const std::int64_t end = std::min(begin + kChunk, p_.queries);
    const std::int64_t keys = p_.visible(end - 1);
    load_segments(p_, extras, unit, w);
    transpose(key_rows(operand(call, unit, 1), keys, w), w.keys_by_depth);
    interleave(key_rows(operand(call, unit, 2), keys, w), w.values);
    const Rows<const std::byte> q = operand(call, unit, 0);
    const auto out = head_rows(p_, call.results[0], unit, p_.queries, p_.heads);
    Prefetcher prefetcher;
    for (std::int64_t first = begin; first < end; first += kTile) {
      prefetcher.clear();
      fetch_next(call, unit, first, prefetcher, [&](std::int64_t u, std::int64_t i) {
        fetch(operand(call, u, 0), i, p_.queries, prefetcher);
      });
      fetch(out, first, p_.queries, prefetcher);
      const Tile tile(p_, loops_, isa_, extras, unit, first, w, prefetcher);
      Factors inverses;
      tile.load(q, w.queries);
      tile.compute_weights(inverses);
      if (p_.dropout > 0) {
        tile.draw();
        tile.apply_dropout(w.scores);
      }
      tile.multiply_keys(w.scores, w.values, round_up(keys, kPanel));
      tile.store(&inverses, out);
    }
  }

 private:
  std::int64_t chunks() const { return (p_.queries + kChunk - 1) / kChunk; }
};

/// A unit is one head of keys and values, and the heads of queries that see it.
class BackwardKernel final : public AttentionKernel {
 public:
  BackwardKernel(const Node& node, Types operands, const Target& target)
      : AttentionKernel(node, operands, target, true) {}

 protected:
  Grid grid() const override {
    return divide(p_.batch * p_.kv_heads, 5 * p_.group() * p_.queries * p_.keys * p_.depth);
  }

  void run_unit(std::int64_t index, const KernelCall& call, const Extras& extras,
                const Workspace& w) const override {
    const std::int64_t first_head = index * p_.group();
    load_segments(p_, extras, first_head, w);
    const KeyRows keys = key_rows(operand(call, first_head, 1), p_.keys, w);
    transpose(keys, w.keys_by_depth);
    interleave(keys, w.keys);
    transpose(key_rows(operand(call, first_head, 2), p_.keys, w), w.values);
    if (p_.queries == 0)  // no tile sets them
      for (float* sums : {w.dkeys, w.dvalues})
        std::fill_n(sums, p_.padded_keys() * p_.padded_depth(), 0.0F);
    for (std::int64_t unit = first_head; unit < first_head + p_.group(); ++unit)
      run_head(unit, unit == first_head, call, extras, w);
    store_keys(w.dkeys, result(call, first_head, 1));
    store_keys(w.dvalues, result(call, first_head, 2));
  }

 private:
  void run_head(std::int64_t unit, bool first_head, const KernelCall& call, const Extras& extras,
                const Workspace& w) const {
    Prefetcher prefetcher;
    for (std::int64_t first = 0; first < p_.queries; first += kTile) {
      prefetcher.clear();
      fetch_tile(call, unit, first, prefetcher);
      const Tile tile(p_, loops_, isa_, extras, unit, first, w, prefetcher);
      const HeadRows rows{operand(call, unit, 0), outcome(call, unit, 0), outcome(call, unit, 1)};
      run_tile(tile, rows, first_head, w);
      tile.store(nullptr, result(call, unit, 0));
    }
  }

  struct HeadRows {
    Rows<const std::byte> q, out, dout;
  };
  /// Adds to w.dkeys and w.dvalues and computes the tile of dq.
  void run_tile(const Tile& tile, const HeadRows& rows, bool first_head, const Workspace& w) const {
    Factors inverses;
    tile.load(rows.q, w.queries);
    const Unit* query_panels = tile.panels(w.queries, w.query_panels);
    tile.load(rows.dout, w.rows);
    const Unit* dout_panels = tile.panels(w.rows, w.dout_panels);
    tile.compute_weights(inverses);
    tile.multiply_depth(w.rows, w.values, w.gradients);
    if (p_.dropout > 0) {
      tile.draw();
      tile.apply_dropout(w.gradients);
    }
    tile.softmax_grad(rows.out, w.rows, inverses);
    if (p_.dropout > 0) tile.apply_dropout(w.scores);
    tile.add_rows(w.scores, dout_panels, w.dvalues, first_head);
    tile.multiply_keys(w.gradients, w.keys, p_.padded_keys());
    tile.add_rows(w.gradients, query_panels, w.dkeys, first_head);
  }
  /// The forward pass's result or its gradient: which 0 or 1.
  Rows<const std::byte> outcome(const KernelCall& call, std::int64_t unit,
                                std::size_t which) const {
    const std::byte* array = call.operands[static_cast<std::size_t>(p_.tensors()) + which];
    return head_rows(p_, array, unit, p_.queries, p_.heads);
  }
  /// Fetches the rows that the tile at `first` writes and those read after it.
  void fetch_tile(const KernelCall& call, std::int64_t unit, std::int64_t first,
                  Prefetcher& prefetcher) const {
    fetch_next(call, unit, first, prefetcher, [&](std::int64_t u, std::int64_t i) {
      fetch(operand(call, u, 0), i, p_.queries, prefetcher);
      fetch(outcome(call, u, 0), i, p_.queries, prefetcher);
      fetch(outcome(call, u, 1), i, p_.queries, prefetcher);
    });
    for (std::int64_t part = 0; part < 3; ++part)
      fetch(result(call, unit, part), first, part == 0 ? p_.queries : p_.keys, prefetcher);
  }
  /// dq, dk or dv: one after the other, or slices of one array.
  Rows<std::byte> result(const KernelCall& call, std::int64_t unit, std::int64_t part) const {
    const std::int64_t sizes[2] = {p_.batch * p_.queries * p_.row(),
                                   p_.batch * p_.keys * p_.kv_row()};
    const std::int64_t before = p_.packed || part == 0 ? 0 : sizes[0] + (part - 1) * sizes[1];
    return part_rows(p_, call.results[0] + before * static_cast<std::int64_t>(size_of(p_.dtype)),
                     unit, part);
  }
  void store_keys(const float* from, const Rows<std::byte>& to) const {
    loops_.store_rows(p_.dtype, from, p_.padded_depth(), p_.keys, p_.depth, nullptr, to.data,
                      to.stride);
  }
};

}  // namespace

const AttentionLoops& attention_loops(const Target& target, DType dtype) {
  static const AttentionLoops tiles = [] {
    AttentionLoops out = kAttentionBf16;
    out.block = TileLoops::kSide;
    out.step = TileLoops::kStep / out.pair;
    out.enter = kTileLoops.enter;
    out.leave = kTileLoops.leave;
    out.product = kTileLoops.attention_product;
    return out;
  }();
  if (target.isa != Isa::kAvx512) return kAttentionAvx2;
  if (dtype != DType::kBF16 || target.bf16 == Bf16Units::kNone) return kAttentionAvx512;
  if (target.bf16 == Bf16Units::kVectors) return kAttentionBf16;
  return kTileLoops.permitted() ? tiles : kAttentionAvx512;
}

KernelPtr plan_attention(const Node& node, Types operands, const Target& target) {
  if (node.type.dtype == DType::kF64)
    return plan_reference_kernel(node, operands, WorkClass::kAttention);
  if (KernelPtr kernel = plan_single_query(node, operands, target)) return kernel;
  if (node.op == Op::kAttention) return std::make_unique<ForwardKernel>(node, operands, target);
  return std::make_unique<BackwardKernel>(node, operands, target);
}

}  // namespace lockstep
