// Attention and its gradient without a T x T tensor: for every head, tiles of kTile queries against
// all keys they can see, whose scores live in scratch. Products run on the [B,T,H,D] layout as it
// is. The gradient recomputes the weights of a tile and adds to dk and dv in the order of the
// tiles, so it is divided over heads only; the forward pass is divided over heads and tiles.
//
// Method: T. Dao et al., "FlashAttention: Fast and Memory-Efficient Exact Attention with
// IO-Awareness" (2022), with whole rows of scores, since a row fits the cache.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/base/error.h"
#include "core/base/rng.h"
#include "core/kernels/cpu/grid.h"
#include "core/kernels/cpu/kernels.h"
#include "core/kernels/cpu/onednn.h"
#include "core/kernels/cpu/philox.h"
#include "core/kernels/cpu/reference_kernel.h"
#include "core/kernels/cpu/vector_loops.h"

namespace lockstep {
namespace {

constexpr std::int64_t kTile = 64;  ///< queries
constexpr std::int64_t kPad = 32;   ///< rows of scores are whole multiples, see VectorLoops
/// Multiply-adds that make a task worth handing to a thread.
constexpr std::int64_t kTaskWork = std::int64_t{1} << 21;

std::int64_t padded(std::int64_t count) {
  return (count + kPad - 1) / kPad * kPad;
}

struct Problem {
  std::int64_t batch, queries, keys, heads, depth;
  float scale;
  double dropout;
  bool causal;
  bool masked;
  std::uint64_t stream;

  Problem(const Node& node, const Shape& q, const Shape& k)
      : batch(q[0]),
        queries(q[1]),
        keys(k[1]),
        heads(q[2]),
        depth(q[3]),
        scale(static_cast<float>(node.attrs.real(Attr::kScale))),
        dropout(node.attrs.real(Attr::kDropout)),
        causal(node.attrs.flag(Attr::kCausal)),
        masked(node.attrs.flag(Attr::kMasked)),
        stream(dropout > 0 ? static_cast<std::uint64_t>(node.attrs.integer(Attr::kStream)) : 0) {}

  std::int64_t row() const { return heads * depth; }  ///< elements from one position to the next
  std::int64_t query_elements() const { return batch * queries * row(); }
  std::int64_t key_elements() const { return batch * keys * row(); }
  std::int64_t tiles() const { return (queries + kTile - 1) / kTile; }
  /// Keys that query i sees: [0, result).
  std::int64_t visible(std::int64_t i) const {
    return causal ? std::clamp<std::int64_t>(i + 1 + keys - queries, 0, keys) : keys;
  }
  /// Row stride of a tile's scores; a row of random words also needs room for whole blocks.
  std::int64_t score_row() const { return padded(keys); }
  std::int64_t word_row() const { return padded(keys) + kPad; }
  std::size_t score_bytes() const {
    return static_cast<std::size_t>(kTile * score_row()) * sizeof(float);
  }
  std::size_t word_bytes() const {
    return dropout > 0 ? static_cast<std::size_t>(kTile * word_row()) * sizeof(std::uint32_t) : 0;
  }
};

/// The operands that follow the tensors: [key_mask], [seed, step, shard].
struct Extras {
  const std::byte* mask = nullptr;
  RngKey key;

  Extras(const Problem& p, std::span<const std::byte* const> operands) {
    std::size_t next = 0;
    if (p.masked) mask = operands[next++];
    if (p.dropout == 0) return;
    std::int64_t values[3];
    for (std::int64_t& value : values) std::memcpy(&value, operands[next++], sizeof value);
    key = {static_cast<std::uint64_t>(values[0]), p.stream, static_cast<std::uint64_t>(values[1]),
           static_cast<std::uint32_t>(values[2])};
  }
};

/// A tile of queries of one head, with its working memory.
class Tile {
 public:
  Tile(const Problem& p, Isa isa, const Extras& extras, std::int64_t batch, std::int64_t head,
       std::int64_t first, float* scores, std::uint32_t* words)
      : p_(p),
        isa_(isa),
        loops_(loops_for(isa)),
        extras_(extras),
        batch_(batch),
        head_(head),
        first_(first),
        rows_(std::min(kTile, p.queries - first)),
        keys_(p.visible(first + rows_ - 1)),
        scores_(scores),
        words_(words) {}

  std::int64_t rows() const { return rows_; }
  std::int64_t keys() const { return keys_; }  ///< that any query of the tile sees
  float* weights() const { return scores_; }
  std::int64_t query_at() const {
    return ((batch_ * p_.queries + first_) * p_.heads + head_) * p_.depth;
  }
  std::int64_t key_at() const { return (batch_ * p_.keys * p_.heads + head_) * p_.depth; }

  /// to[rows, keys] = alpha * x[rows, depth] y[keys, depth]^T.
  void products(float alpha, const float* x, const float* y, float* to) const {
    gemm_f32(rows_, keys_, p_.depth, alpha, x + query_at(), {p_.row(), 1}, y + key_at(),
             {1, p_.row()}, 0.0F, to, p_.score_row());
  }
  /// to[rows, depth] = w[rows, keys] y[keys, depth].
  void sum_keys(const float* w, const float* y, float* to) const {
    gemm_f32(rows_, p_.depth, keys_, 1.0F, w, {p_.score_row(), 1}, y + key_at(), {p_.row(), 1},
             0.0F, to + query_at(), p_.row());
  }
  /// to[keys, depth] += w[rows, keys]^T x[rows, depth].
  void add_queries(const float* w, const float* x, float* to) const {
    gemm_f32(keys_, p_.depth, rows_, 1.0F, w, {1, p_.score_row()}, x + query_at(), {p_.row(), 1},
             1.0F, to + key_at(), p_.row());
  }

  /// The softmax of the scores of every query over the keys it sees, zero elsewhere.
  void compute_weights(const float* q, const float* k) {
    products(p_.scale, q, k, scores_);
    for (std::int64_t r = 0; r < rows_; ++r) {
      constexpr float kHidden = -std::numeric_limits<float>::infinity();
      float* row = scores_ + r * p_.score_row();
      const std::int64_t visible = p_.visible(first_ + r);
      const std::int64_t width = padded(visible);
      std::fill(row + visible, row + width, kHidden);
      std::fill(row + width, row + padded(keys_), 0.0F);
      if (extras_.mask != nullptr) {
        const std::byte* mask = extras_.mask + batch_ * p_.keys;
        for (std::int64_t j = 0; j < visible; ++j)
          if (mask[j] == std::byte{0}) row[j] = kHidden;
      }
      loops_.softmax(row, width);
    }
  }
  /// Draws the words of the tile's dropout.
  void draw() {
    for (std::int64_t r = 0; r < rows_; ++r) {
      const std::int64_t position =
          ((batch_ * p_.heads + head_) * p_.queries + first_ + r) * p_.keys;
      philox_blocks(isa_, extras_.key, static_cast<std::uint64_t>(position / 4),
                    padded(keys_ + position % 4) / 4, words_ + r * p_.word_row());
    }
  }
  /// Drops and rescales elements of values[rows, keys].
  void apply_dropout(float* values) const {
    const auto threshold = static_cast<std::uint32_t>(std::ceil(p_.dropout * 0x1p24));
    const auto scale = static_cast<float>(1.0 / (1.0 - p_.dropout));
    for (std::int64_t r = 0; r < rows_; ++r) {
      const std::int64_t position =
          ((batch_ * p_.heads + head_) * p_.queries + first_ + r) * p_.keys;
      loops_.dropout(words_ + r * p_.word_row() + position % 4, threshold, scale, keys_,
                     values + r * p_.score_row());
    }
  }
  /// gradients: of the weights -> of the scores.
  void softmax_grad(float* gradients) const {
    for (std::int64_t r = 0; r < rows_; ++r) {
      float* row = gradients + r * p_.score_row();
      const std::int64_t visible = p_.visible(first_ + r);
      std::fill(row + visible, row + padded(keys_), 0.0F);
      loops_.softmax_grad(scores_ + r * p_.score_row(), padded(visible), p_.scale, row);
    }
  }

 private:
  const Problem& p_;
  Isa isa_;
  const VectorLoops& loops_;
  const Extras& extras_;
  std::int64_t batch_;
  std::int64_t head_;
  std::int64_t first_;  ///< query
  std::int64_t rows_;
  std::int64_t keys_;
  float* scores_;
  std::uint32_t* words_;
};

std::size_t aligned(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

/// Runs on f32; other floats are converted on the way in and out.
class AttentionKernel : public Kernel {
 public:
  AttentionKernel(const Node& node, Types operands, std::size_t tensors, const Target& target)
      : p_(node, operands[0].shape, operands[1].shape),
        isa_(target.isa),
        dtype_(node.type.dtype),
        result_elements_(node.type.elements()) {
    for (std::size_t i = 0; i < tensors; ++i) tensor_elements_.push_back(operands[i].elements());
  }

  std::string name() const override { return "attention"; }

  std::size_t scratch_bytes() const override {
    return converted_bytes() + task_bytes() * static_cast<std::size_t>(grid().tasks());
  }

  void run(const KernelCall& call) const override {
    if (result_elements_ == 0) return;
    std::vector<const float*> tensors;
    std::byte* next = call.scratch;
    const auto take = [&](std::int64_t elements) {
      auto* out = reinterpret_cast<float*>(next);
      next += aligned(static_cast<std::size_t>(elements) * sizeof(float));
      return out;
    };
    const bool converts = dtype_ != DType::kF32;
    for (std::size_t i = 0; i < tensor_elements_.size(); ++i) {
      if (converts) {
        float* wide = take(tensor_elements_[i]);
        loops_for(isa_).to_f32(dtype_, call.operands[i], tensor_elements_[i], wide);
        tensors.push_back(wide);
      } else {
        tensors.push_back(reinterpret_cast<const float*>(call.operands[i]));
      }
    }
    float* result = converts ? take(result_elements_) : reinterpret_cast<float*>(call.results[0]);
    const Extras extras(p_, call.operands.subspan(tensor_elements_.size()));
    const Grid grid = this->grid();
    call.pool.parallel_for(grid.tasks(), [&](std::int64_t task) {
      std::byte* scratch = next + task_bytes() * static_cast<std::size_t>(task);
      for (std::int64_t unit = grid.begin(task); unit < grid.end(task); ++unit)
        run_unit(unit, tensors, extras, scratch, result);
    });
    if (converts) loops_for(isa_).from_f32(dtype_, result, result_elements_, call.results[0]);
  }

 protected:
  virtual Grid grid() const = 0;
  virtual std::size_t task_bytes() const = 0;
  virtual void run_unit(std::int64_t unit, const std::vector<const float*>& tensors,
                        const Extras& extras, std::byte* scratch, float* result) const = 0;

  Grid divide(std::int64_t units, std::int64_t work_per_unit) const {
    return make_grid(units, kTaskWork / std::max<std::int64_t>(work_per_unit, 1), 1,
                     kMaxScratchTasks);
  }

  Problem p_;
  Isa isa_;

 private:
  std::size_t converted_bytes() const {
    if (dtype_ == DType::kF32) return 0;
    std::size_t bytes = aligned(static_cast<std::size_t>(result_elements_) * sizeof(float));
    for (const std::int64_t elements : tensor_elements_)
      bytes += aligned(static_cast<std::size_t>(elements) * sizeof(float));
    return bytes;
  }

  DType dtype_;
  std::int64_t result_elements_;
  std::vector<std::int64_t> tensor_elements_;
};

/// A unit is one tile of one head. Task scratch: scores, words.
class ForwardKernel final : public AttentionKernel {
 public:
  ForwardKernel(const Node& node, Types operands, const Target& target)
      : AttentionKernel(node, operands, 3, target) {}

 protected:
  Grid grid() const override {
    return divide(p_.batch * p_.heads * p_.tiles(), 2 * kTile * p_.keys * p_.depth);
  }
  std::size_t task_bytes() const override { return p_.score_bytes() + p_.word_bytes(); }

  void run_unit(std::int64_t unit, const std::vector<const float*>& tensors, const Extras& extras,
                std::byte* scratch, float* result) const override {
    const std::int64_t head = unit / p_.tiles();
    Tile tile(p_, isa_, extras, head / p_.heads, head % p_.heads, unit % p_.tiles() * kTile,
              reinterpret_cast<float*>(scratch),
              reinterpret_cast<std::uint32_t*>(scratch + p_.score_bytes()));
    tile.compute_weights(tensors[0], tensors[1]);
    if (p_.dropout > 0) {
      tile.draw();
      tile.apply_dropout(tile.weights());
    }
    tile.sum_keys(tile.weights(), tensors[2], result);
  }
};

/// A unit is one head. Task scratch: scores, their gradients, words.
class BackwardKernel final : public AttentionKernel {
 public:
  BackwardKernel(const Node& node, Types operands, const Target& target)
      : AttentionKernel(node, operands, 5, target) {}

 protected:
  Grid grid() const override {
    return divide(p_.batch * p_.heads, 5 * p_.queries * p_.keys * p_.depth);
  }
  std::size_t task_bytes() const override { return 2 * p_.score_bytes() + p_.word_bytes(); }

  void run_unit(std::int64_t unit, const std::vector<const float*>& tensors, const Extras& extras,
                std::byte* scratch, float* result) const override {
    const float* q = tensors[0];
    const float* k = tensors[1];
    const float* v = tensors[2];
    const float* dout = tensors[4];
    float* dq = result;
    float* dk = dq + p_.query_elements();
    float* dv = dk + p_.key_elements();
    clear(unit, dk);
    clear(unit, dv);
    auto* scores = reinterpret_cast<float*>(scratch);
    auto* gradients = reinterpret_cast<float*>(scratch + p_.score_bytes());
    auto* words = reinterpret_cast<std::uint32_t*>(scratch + 2 * p_.score_bytes());
    for (std::int64_t first = 0; first < p_.queries; first += kTile) {
      Tile tile(p_, isa_, extras, unit / p_.heads, unit % p_.heads, first, scores, words);
      tile.compute_weights(q, k);
      if (p_.dropout > 0) {
        tile.draw();
        std::copy_n(scores, tile.rows() * p_.score_row(), gradients);
        tile.apply_dropout(gradients);
        tile.add_queries(gradients, dout, dv);
      } else {
        tile.add_queries(scores, dout, dv);
      }
      tile.products(1.0F, dout, v, gradients);
      if (p_.dropout > 0) tile.apply_dropout(gradients);
      tile.softmax_grad(gradients);
      tile.sum_keys(gradients, k, dq);
      tile.add_queries(gradients, q, dk);
    }
  }

 private:
  /// Zeroes the keys of one head.
  void clear(std::int64_t unit, float* to) const {
    to += (unit / p_.heads * p_.keys * p_.heads + unit % p_.heads) * p_.depth;
    for (std::int64_t j = 0; j < p_.keys; ++j) std::fill_n(to + j * p_.row(), p_.depth, 0.0F);
  }
};

}  // namespace

KernelPtr make_attention(const Node& node, Types operands, const Target& target) {
  if (node.type.dtype == DType::kF64) return make_reference_kernel(node, operands, "attention");
  if (node.op == Op::kAttention) return std::make_shared<ForwardKernel>(node, operands, target);
  return std::make_shared<BackwardKernel>(node, operands, target);
}

}  // namespace lockstep
