#include "core/kernels/cpu/attention_tile.h"

#include <cmath>
#include <cstring>

#include "core/kernels/cpu/base/philox.h"
#include "core/kernels/cpu/base/vector_loops.h"

namespace lockstep::attention {
namespace {

/// Allocates memory in order; without memory it only counts.
class Carver {
 public:
  explicit Carver(std::byte* base) : base_(base) {}
  template <class T>
  T* take(std::int64_t count) {
    const std::size_t at = used_;
    used_ += static_cast<std::size_t>(round_up(count * static_cast<std::int64_t>(sizeof(T)), 64));
    return base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + at);
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* base_;
  std::size_t used_ = 0;
};

/// The operand after q, k and v and, for a gradient, after the result and its gradient.
const Type& mask_type(const Node& node, std::span<const Type> operands) {
  const std::size_t tensors = operands[0].shape.rank() == 5 ? 1 : 3;
  return operands[tensors + (node.op == Op::kAttention ? 0 : 2)];
}

}  // namespace

Problem::Problem(const Node& node, std::span<const Type> operands)
    : dtype(node.type.dtype),
      scale(static_cast<float>(node.attrs.real(Attr::kScale))),
      dropout(node.attrs.real(Attr::kDropout)),
      causal(node.attrs.flag(Attr::kCausal)),
      masked(node.attrs.flag(Attr::kMasked)),
      segmented(masked && mask_type(node, operands).dtype == DType::kI32),
      packed(operands[0].shape.rank() == 5),
      stream(dropout > 0 ? static_cast<std::uint64_t>(node.attrs.integer(Attr::kStream)) : 0) {
  const Shape& q = operands[0].shape;
  batch = q[0];
  queries = q[1];
  keys = packed ? q[1] : operands[1].shape[1];
  heads = q[packed ? 3 : 2];
  kv_heads = packed ? heads : operands[1].shape[2];
  depth = q[packed ? 4 : 3];
}

Extras::Extras(const Problem& p, std::span<const std::byte* const> operands) {
  std::size_t next = 0;
  if (p.segmented) {
    segments = reinterpret_cast<const std::int32_t*>(operands[next++]);
  } else if (p.masked) {
    mask = operands[next++];
  }
  if (p.dropout == 0) return;
  std::int64_t values[3];
  for (std::int64_t& value : values) std::memcpy(&value, operands[next++], sizeof value);
  key = {static_cast<std::uint64_t>(values[0]), p.stream, static_cast<std::uint64_t>(values[1]),
         static_cast<std::uint32_t>(values[2])};
}

Workspace::Workspace(const Problem& p, std::int64_t pair, bool backward, std::byte* base) {
  Carver carver(base);
  const std::int64_t all = p.padded_keys() * p.padded_depth();
  const std::int64_t tile_elements = p.tile_rows() * p.padded_depth();
  const std::int64_t square = p.tile_rows() * p.score_row();
  const auto only = [](bool wanted, std::int64_t count) { return wanted ? count : 0; };
  keys_by_depth = carver.take<Unit>(all / pair);
  values = carver.take<Unit>(all / pair);
  keys = carver.take<Unit>(only(backward, all / pair));
  rows = carver.take<Unit>(std::max(all, tile_elements) / pair);
  queries = carver.take<Unit>(tile_elements / pair);
  query_panels = carver.take<Unit>(only(backward, tile_elements / pair));
  dout_panels = carver.take<Unit>(only(backward, tile_elements / pair));
  rounded = carver.take<Unit>(only(pair > 1, square / pair));
  rounded_pairs = carver.take<Unit>(only(pair > 1 && backward, square / pair));
  scores = carver.take<float>(square);
  gradients = carver.take<float>(only(backward, square));
  tile = carver.take<float>(tile_elements);
  dkeys = carver.take<float>(only(backward, all));
  dvalues = carver.take<float>(only(backward, all));
  words = carver.take<std::uint32_t>(only(p.dropout > 0, p.tile_rows() * p.word_row()));
  segments = carver.take<std::int32_t>(only(p.masked, p.padded_keys()));
  bytes = carver.used();
}

void load_segments(const Problem& p, const Extras& extras, std::int64_t unit, const Workspace& w) {
  if (!p.masked) return;
  const std::int64_t first = unit / p.heads * p.keys;
  for (std::int64_t j = 0; j < p.keys; ++j)
    w.segments[j] = p.segmented ? std::max(extras.segments[first + j], 0)
                                : static_cast<std::int32_t>(extras.mask[first + j] != std::byte{0});
  std::fill(w.segments + p.keys, w.segments + p.padded_keys(), 0);
}

Tile::Tile(const Problem& p, const AttentionLoops& loops, Isa isa, const Extras& extras,
           std::int64_t unit, std::int64_t first, const Workspace& w, Prefetcher& prefetcher)
    : p_(p),
      loops_(loops),
      isa_(isa),
      extras_(extras),
      unit_(unit),
      first_(first),
      rows_(std::min(kTile, p.queries - first)),
      padded_rows_(round_up(rows_, loops.block)),
      depth_units_(p.depth_units(loops.pair)),
      w_(w),
      prefetcher_(prefetcher) {}

void Tile::load(const Rows<const std::byte>& x, Unit* to) const {
  loops_.load_rows(p_.dtype, x.at(first_), x.stride, rows_, padded_rows_, p_.depth, to);
}

const Unit* Tile::panels(const Unit* rows, Unit* to) const {
  if (loops_.pair == 1 && p_.padded_depth() == kPanel) return rows;
  loops_.interleave(rows, depth_units_, padded_rows_, depth_units_, to);
  return to;
}

/// Keys that any query of row r's block sees, in whole blocks: products contract no more of them.
std::int64_t Tile::width(std::int64_t r) const {
  const std::int64_t block = loops_.block;
  const std::int64_t last = std::min(r / block * block + block, rows_) - 1;
  return round_up(p_.visible(first_ + last), block);
}

std::int32_t Tile::segment(std::int64_t r) const {
  constexpr std::int32_t kSeesNothing = -1;
  if (!p_.segmented) return 1;
  const std::int32_t own = first_ + r < p_.keys ? w_.segments[first_ + r] : 0;
  return own == 0 ? kSeesNothing : own;
}

void Tile::clear_padding(float* scores) const {
  for (std::int64_t r = rows_; r < padded_rows_; ++r) std::fill_n(score(scores, r), width(r), 0.0F);
}

void Tile::multiply_depth(const Unit* x, const Unit* y, float* to) const {
  const std::int64_t ld = p_.score_row();
  const std::int64_t block = loops_.block;
  const std::int64_t used = round_up((p_.depth + loops_.pair - 1) / loops_.pair, loops_.step);
  const auto multiply = [&](std::int64_t begin, std::int64_t end, std::int64_t j,
                            std::int64_t columns) {
    loops_.product(end - begin, columns, used, x + begin * depth_units_, depth_units_, 1,
                   y + j * depth_units_, to + begin * ld + j, ld, false, prefetcher_);
  };
  std::int64_t half = 0;   // the first row that sees the panel
  std::int64_t whole = 0;  // and the first that sees more than half of it
  for (std::int64_t j = 0; j < width(padded_rows_ - block); j += kPanel) {
    while (width(half) <= j) half += block;
    while (whole < padded_rows_ && width(whole) <= j + kPanel / 2) whole += block;
    multiply(half, whole, j, kPanel / 2);
    multiply(whole, padded_rows_, j, kPanel);
  }
}

void Tile::multiply_keys(const float* s, const Unit* y, std::int64_t keys) const {
  const std::int64_t ld = p_.score_row() / loops_.pair;
  const Unit* x = reinterpret_cast<const Unit*>(s);
  if (loops_.pair > 1) {
    for (std::int64_t r = 0; r < padded_rows_; ++r)
      loops_.round_row(s + r * p_.score_row(), width(r), w_.rounded + r * ld);
    x = w_.rounded;
  }
  for (std::int64_t d = 0; d < p_.padded_depth(); d += kPanel)
    for (std::int64_t r = 0; r < padded_rows_; r += loops_.block)
      loops_.product(loops_.block, kPanel, width(r) / loops_.pair, x + r * ld, ld, 1,
                     y + d * keys / loops_.pair, w_.tile + r * p_.padded_depth() + d,
                     p_.padded_depth(), false, prefetcher_);
}

void Tile::add_rows(const float* s, const Unit* y, float* to, bool first_head) const {
  const std::int64_t ld = p_.score_row();
  const std::int64_t block = loops_.block;
  const Unit* x = reinterpret_cast<const Unit*>(s);
  if (loops_.pair > 1) {
    for (std::int64_t r = 0; r < padded_rows_; r += 2)
      loops_.round_rows(s + r * ld, s + (r + 1) * ld, width(r), w_.rounded_pairs + r / 2 * ld);
    x = w_.rounded_pairs;
  }
  const std::int64_t units = padded_rows_ / loops_.pair;
  // Keys that earlier tiles and heads saw have sums already.
  const std::int64_t before = first_head ? first_ : p_.queries;
  const std::int64_t seen = before == 0 ? 0 : round_up(p_.visible(before - 1), block);
  for (std::int64_t d = 0; d < p_.padded_depth(); d += kPanel) {
    std::int64_t r = 0;  // the first row that sees key j
    for (std::int64_t j = 0; j < width(padded_rows_ - block); j += block) {
      while (width(r) <= j) r += block;
      const std::int64_t u = r / loops_.pair;
      loops_.product(block, kPanel, units - u, x + u * ld + j, 1, ld, y + d * units + u * kPanel,
                     to + j * p_.padded_depth() + d, p_.padded_depth(), j < seen, prefetcher_);
    }
  }
}

void Tile::compute_weights(Factors& inverses) const {
  multiply_depth(w_.queries, w_.keys_by_depth, w_.scores);
  const std::int32_t* key_segments = p_.masked ? w_.segments : nullptr;
  for (std::int64_t r = 0; r < rows_; r += kBlock) {
    std::int64_t visible[kBlock];
    std::int32_t segments[kBlock];
    for (std::int64_t i = 0; i < kBlock; ++i) {
      visible[i] = p_.visible(first_ + r + i);
      segments[i] = segment(r + i);
    }
    loops_.softmax(score(w_.scores, r), p_.score_row(), std::min(kBlock, rows_ - r), visible,
                   width(r), p_.scale, key_segments, segments,
                   &inverses[static_cast<std::size_t>(r)]);
  }
  clear_padding(w_.scores);
}

void Tile::softmax_grad(const Rows<const std::byte>& out, const Unit* dout,
                        const Factors& inverses) const {
  const auto* rows = reinterpret_cast<const Unit*>(out.at(first_));
  std::int64_t stride = out.stride / loops_.pair;
  if (!p_.has_unit_rows(loops_.pair)) {
    auto* loaded = reinterpret_cast<Unit*>(w_.tile);
    load(out, loaded);
    rows = loaded;
    stride = depth_units_;
  }
  // sum_j weight_j dweight_j = dout . out, dropout included.
  Factors means;
  loops_.dots(rows, stride, dout, depth_units_, rows_, depth_units_, means.data());
  for (std::int64_t r = 0; r < rows_; r += kBlock) {
    const auto i = static_cast<std::size_t>(r);
    loops_.softmax_grad(score(w_.scores, r), score(w_.gradients, r), p_.score_row(),
                        std::min(kBlock, rows_ - r), width(r), &inverses[i], &means[i], p_.scale);
  }
  clear_padding(w_.gradients);
}

/// The dropout word of row r's first key.
std::int64_t Tile::word(std::int64_t r) const {
  return (unit_ * p_.queries + first_ + r) * p_.keys;
}

void Tile::draw() const {
  for (std::int64_t r = 0; r < rows_; ++r) {
    const std::int64_t at = word(r);
    philox_blocks(isa_, extras_.key, static_cast<std::uint64_t>(at / 4),
                  round_up(width(r) + at % 4, kPanel) / 4, w_.words + r * p_.word_row());
  }
}

void Tile::apply_dropout(float* values) const {
  const auto threshold = static_cast<std::uint32_t>(std::ceil(p_.dropout * 0x1p24));
  const auto scale = static_cast<float>(1.0 / (1.0 - p_.dropout));
  for (std::int64_t r = 0; r < rows_; ++r)
    loops_for(isa_).dropout(w_.words + r * p_.word_row() + word(r) % 4, threshold, scale, width(r),
                            score(values, r));
}

void Tile::store(const Factors* factors, const Rows<std::byte>& to) const {
  loops_.store_rows(p_.dtype, w_.tile, p_.padded_depth(), rows_, p_.depth,
                    factors == nullptr ? nullptr : factors->data(), to.at(first_), to.stride);
}

}  // namespace lockstep::attention
