// dot_general on oneDNN. Batch, free and contracting dimensions collapse to one stride each where
// they can, so that transposes cost nothing; an operand whose dimensions do not is copied into
// canonical order first. Work is divided into blocks of rows, columns or batches by the shape
// alone, and never along the contracted dimension.
//
// Measured on Zen 5, GFLOP/s of one thread (peaks 256 in f32, 512 in bf16), m x n x k:
//                        f32: sgemm  matmul  packed (reorder)   bf16: matmul  packed (reorder)
//   x w     64x512x784         244     229     255 (34 us)             449     504 (115 us)
//           768x384x128        249     245     250 (3 us)              488     495 (13 us)
//           768x65x128 (w^T)   193     201     207 (3 us)              395     404 (3 us)
//           2048x1152x384      245     249     249 (33 us)             491     510 (107 us)
//           256x2304x768       226     220     214 (299 us)            405     453 (476 us)
//   dy w^T  2048x384x1152      222     237     245 (113 us)            476     505 (110 us)
//           256x768x2304       104     206     215 (572 us)            441     457 (473 us)
//   x^T dy  384x1152x2048      245     224     210 (277 us)            414     455 (600 us)
//           768x2304x256       218     212     217 (48 us)             450     458 (159 us)
// Hence, without AMX, dnnl_sgemm for single f32 products, matmul primitives for batched ones, for a
// transposed b and for bf16 where it has fast units, else blocks of widened operands. Packing an
// operand costs more than it gains for one use, and a weight that changes every step has only two;
// but what several parts would pack is packed once for all of them.
#include "core/kernels/cpu/product/dot.h"

#include <cstring>
#include <optional>
#include <vector>

#include "core/base/error.h"
#include "core/ir/infer.h"
#include "core/kernels/base/grid.h"
#include "core/kernels/base/task_kernel.h"
#include "core/kernels/cpu/base/onednn.h"
#include "core/kernels/cpu/base/scratch_slots.h"
#include "core/kernels/cpu/base/vector_loops.h"
#include "core/kernels/cpu/product/blocked_product.h"
#include "core/kernels/cpu/product/dot_operand.h"
#include "core/kernels/cpu/product/few_rows.h"
#include "core/kernels/cpu/product/tile_product.h"

namespace lockstep {
namespace {

/// Multiply-adds for which a separate task of some batches pays: about 40 us.
constexpr std::int64_t kBatchWork = std::int64_t{1} << 22;
/// The same for a part of one product, about 1 ms: every part packs the other operand again, which
/// costs 10 % where 768x128x512 is divided at 40 us.
constexpr std::int64_t kPartWork = std::int64_t{1} << 27;
/// Maximum of tasks of a product that packs its b for each: with 16 the shapes above are 9 % slower
/// in the mean, 30 % at worst.
constexpr std::int64_t kPackedTasks = 4;
/// Minimum sides of a part, for the same reason. Sapphire Rapids' successor, f32 in a step of BERT
/// base, over parts with sides of 256: 1024x3072x768 by 768 columns 1.10, 1024x768x3072 by 512 rows
/// 1.04, 1024x768x768 1.015.
constexpr std::int64_t kPartRows = 384;
constexpr std::int64_t kPartColumns = 768;
/// Where all parts read one packed b; with half of that 1576x3072x768 is 1.5 % slower.
constexpr std::int64_t kPreparedPartRows = 192;
/// An a whose rows lie by a multiple of this many bytes from column to column, for this many
/// columns or more: lines so far apart share two sets of the first cache or one. Where b is narrow
/// it is copied first (Emerald Rapids: 1536x384x2048 157 GFLOP/s instead of 125), else it has parts
/// of so many rows (3072x768x1024 161, 134 by 768 rows, 140 if copied; 3072x768x512 in a step of
/// Llama 171, 158 by 384 rows).
constexpr std::int64_t kAliasBytes = 2048;
constexpr std::int64_t kAliasSteps = 512;
constexpr std::int64_t kAliasCopySteps = 1024;
constexpr std::int64_t kAliasCopyColumns = 512;
constexpr std::int64_t kAliasPartRows = 1536;
/// Products of at least this many rows, such as pointwise convolutions, with a small b have parts
/// whose results stay in a cache for the next reader.
constexpr std::int64_t kTallRows = 2048;
constexpr std::int64_t kSoonPacked = std::int64_t{1} << 17;  // elements
constexpr std::int64_t kTallPartBytes = std::int64_t{1} << 19;
/// Below this many rows or columns a matmul primitive is slower than dnnl_sgemm.
constexpr std::int64_t kSmallSide = 8;

/// Below this many rows or columns most of a tile is empty.
constexpr std::int64_t kTileSide = 16;
/// A product by tiles is one part for each thread, as every part packs an operand again (BERT base,
/// one thread: dots 5 % faster than in four parts). The maximum of such parts, to limit scratch,
/// and the minimum side and multiply-adds of one: about 60 us.
constexpr std::int64_t kTileTasks = 8;
constexpr std::int64_t kTilePartSide = 128;
constexpr std::int64_t kTilePartWork = std::int64_t{1} << 25;

/// What a task does of a product: where it begins, and how much.
struct Part {
  std::int64_t batch, row, column;
  std::int64_t batches, rows, columns;
};

/// How a product is divided into tasks.
struct Parts {
  Grid batches;
  Grid rows;
  Grid columns;

  std::int64_t tasks() const { return batches.tasks() * rows.tasks() * columns.tasks(); }
  Part largest() const { return {0, 0, 0, batches.step, rows.step, columns.step}; }
  Part part(std::int64_t task) const {
    const auto size = [](const Grid& grid, std::int64_t i) { return grid.end(i) - grid.begin(i); };
    const std::int64_t b = task / rows.tasks() / columns.tasks();
    const std::int64_t r = task / columns.tasks() % rows.tasks();
    const std::int64_t c = task % columns.tasks();
    return {batches.begin(b), rows.begin(r), columns.begin(c),
            size(batches, b), size(rows, r), size(columns, c)};
  }
};

class DotKernel final : public TaskKernel {
 public:
  DotKernel(const Node& node, Types operands, const Target& target)
      : loops_(loops_for(target.isa)), result_(node.type.dtype) {
    const DotDims dims = dot_dims(operands[0], operands[1], node.attrs);
    batch_ = dims.batch;
    m_ = dims.m;
    n_ = dims.n;
    k_ = dims.k;
    plan_operands(node, operands, dims);
    if (fits_tiles(target)) tiles_.emplace(a_.strides, b_.strides, k_, result_, n_);
    prepares_b_ = prepares_b(target);
    choose_parts(prepares_b_ || m_ >= n_);
    if (!tiles_) choose_product(target);
    lay_out_scratch();
  }

  WorkClass work() const override { return WorkClass::kDot; }
  std::size_t scratch_bytes() const override { return scratch_bytes_; }
  void generate(const KernelContext& /*context*/) override {
    for (const auto& matmul : matmul_)
      if (matmul != nullptr) matmul->generate();
  }

  bool joins_bundles() const override { return false; }
  const TaskKernel* as_tasks() const override { return tiles_ || is_empty() ? nullptr : this; }
  void run(const KernelCall& call) const override;

  std::int64_t tasks() const override { return parts_.tasks(); }
  void begin(const KernelCall& call) const override {
    copy_in_order(a_, call.operands[0], call.scratch + a_offset_, call.pool);
    copy_in_order(b_, call.operands[1], call.scratch + b_offset_, call.pool);
    if (task_bytes_ > 0)
      ScratchSlots::begin(call.scratch, call.scratch + task_offset_, task_bytes_);
    if (is_b_prepared())
      matmul_[0]->prepare(call.operands[1], call.scratch + prepared_offset_,
                          call.scratch + task_offset_);
  }
  void run_task(const KernelCall& call, std::int64_t task) const override {
    if (task_bytes_ == 0) return run_part(parts_.part(task), call, nullptr);
    const ScratchSlots::Slot slot(ScratchSlots::in(call.scratch));
    run_part(parts_.part(task), call, slot.memory());
  }
  void finish(const KernelCall& /*call*/) const override {}

  bool begins_with(std::size_t operand) const override {
    return (operand == 0 ? a_ : b_).copied || (operand == 1 && is_b_prepared());
  }
  Extent reads(std::int64_t task, std::size_t operand) const override {
    const bool in_rows =
        operand == 0 && batch_ == 1 && !a_.copied && a_.strides.column == 1 && a_.strides.row == k_;
    return in_rows ? rows_of(task, k_ * bytes_of(a_.stored)) : Extent{};
  }
  Extent writes(std::int64_t task, std::size_t /*result*/) const override {
    return batch_ == 1 && parts_.columns.tasks() == 1 ? rows_of(task, n_ * bytes_of(result_))
                                                      : Extent{};
  }

 private:
  void plan_operands(const Node& node, Types operands, const DotDims& dims);
  bool is_whole(const Part& part) const {
    const Part whole = parts_.largest();
    return part.batches == whole.batches && part.rows == whole.rows &&
           part.columns == whole.columns;
  }
  /// Whether oneDNN multiplies bf16 with units of the processor.
  bool multiplies_bf16(const Target& target) const {
    return !tiles_ && a_.stored == DType::kBF16 && target.bf16 != Bf16Units::kNone &&
           (result_ == DType::kBF16 || result_ == DType::kF32);
  }
  bool is_empty() const { return batch_ * m_ * n_ * k_ == 0; }
  static std::int64_t bytes_of(DType dtype) { return static_cast<std::int64_t>(size_of(dtype)); }
  Extent rows_of(std::int64_t task, std::int64_t row_bytes) const {
    if (parts_.rows.tasks() == 1) return {};
    return {parts_.rows.begin(task) * row_bytes, parts_.rows.end(task) * row_bytes};
  }
  bool aliases_a() const;
  bool copies_a() const;
  bool fits_tiles(const Target& target) const;
  bool prepares_b(const Target& target) const;
  bool is_b_prepared() const { return matmul_[0] != nullptr && matmul_[0]->prepared_bytes() > 0; }
  void choose_parts(bool by_rows);
  Parts tile_parts(std::int64_t tasks) const;
  std::int64_t max_tile_tasks() const;
  /// Sums of tiles have one order for every division of a product, so that it may depend on
  /// threads.
  Parts divided(int threads) const {
    if (!tiles_ || batch_ > 1) return parts_;
    return tile_parts(std::min<std::int64_t>(threads, max_tile_tasks()));
  }
  /// The working memory of each task.
  std::size_t task_bytes(const Parts& parts) const;
  void choose_product(const Target& target);
  void lay_out_scratch();
  std::unique_ptr<Matmul> describe_matmul(const Part& part, const Matmul* like) const;
  void run_part(const Part& at, const KernelCall& call, std::byte* scratch) const;

  const VectorLoops& loops_;
  DType result_;
  std::int64_t batch_ = 1;
  std::int64_t m_ = 1;
  std::int64_t n_ = 1;
  std::int64_t k_ = 1;
  DotOperand a_;
  DotOperand b_;
  Parts parts_{};
  /// Primitives for whole parts and for the shorter ones at the end. All null: tiles_ or blocked_,
  /// or if those are empty dnnl_sgemm.
  std::unique_ptr<Matmul> matmul_[2];
  std::optional<BlockedProduct> blocked_;
  std::optional<TileProduct> tiles_;
  bool prepares_b_ = false;  ///< if oneDNN prefers another order than b's
  std::size_t a_offset_ = 0;
  std::size_t b_offset_ = 0;
  std::size_t prepared_offset_ = 0;
  std::size_t task_offset_ = 0;
  std::size_t task_bytes_ = 0;  ///< except for tiles, whose parts differ from call to call
  std::size_t scratch_bytes_ = 0;
};

void DotKernel::plan_operands(const Node& node, Types operands, const DotDims& dims) {
  DotRole roles[2][3];  // operand: batch, free, contract
  const Attr batch_attr[2] = {Attr::kLhsBatch, Attr::kRhsBatch};
  const Attr contract_attr[2] = {Attr::kLhsContract, Attr::kRhsContract};
  for (int side = 0; side < 2; ++side) {
    const Shape& shape = operands[static_cast<std::size_t>(side)].shape;
    for (const std::int64_t d : node.attrs.ints(batch_attr[side])) roles[side][0].add(shape, d);
    for (const int d : side == 0 ? dims.lhs_free : dims.rhs_free) roles[side][1].add(shape, d);
    for (const std::int64_t d : node.attrs.ints(contract_attr[side])) roles[side][2].add(shape, d);
  }
  a_ = plan_dot_operand(operands[0], roles[0][0], roles[0][1], roles[0][2], m_, k_);
  b_ = plan_dot_operand(operands[1], roles[1][0], roles[1][2], roles[1][1], k_, n_);
}

bool DotKernel::aliases_a() const {
  return a_.stored == DType::kF32 && k_ >= kAliasSteps && a_.strides.column * 4 % kAliasBytes == 0;
}

bool DotKernel::copies_a() const {
  return aliases_a() && k_ >= kAliasCopySteps && n_ <= kAliasCopyColumns;
}

bool DotKernel::fits_tiles(const Target& target) const {
  return target.bf16 == Bf16Units::kTiles && a_.stored == DType::kBF16 &&
         (result_ == DType::kBF16 || result_ == DType::kF32) && m_ >= kTileSide &&
         n_ >= kTileSide && k_ > 0 && TileProduct::available();
}

/// A b of bf16 is packed once before all parts, which are of rows, but where that would gather
/// lines by kAliasBytes. Zen 4, GFLOP/s of one thread of two, in four parts: 1576x768x768 220
/// instead of 213, 1576x768x3072 226 and 206, 1576x3072x768 220 and 210; by w^T 219 and 215, 212
/// and 218, 216 and 207. In f32 there is no such gain, nor in gradients of weights.
bool DotKernel::prepares_b(const Target& target) const {
  const bool gathered = b_.strides.column != 1 && b_.strides.column * 2 % kAliasBytes == 0;
  return multiplies_bf16(target) && batch_ == 1 && m_ >= 2 * kPartRows && n_ >= kTileSide &&
         a_.strides.column == 1 && !b_.copied && !gathered;
}

/// Divides batches if there are enough of them, else rows or columns of the result.
void DotKernel::choose_parts(bool by_rows) {
  parts_ = {{batch_, std::max<std::int64_t>(batch_, 1)},
            {m_, std::max<std::int64_t>(m_, 1)},
            {n_, std::max<std::int64_t>(n_, 1)}};
  const std::int64_t per_batch = std::max<std::int64_t>(m_ * n_ * k_, 1);
  // Products of bf16 and of a transposed b pack b again for every block of rows.
  const bool packs_b = a_.stored == DType::kBF16 || b_.strides.column != 1;
  const std::int64_t min_rows = aliases_a() && !copies_a() ? kAliasPartRows
                                : prepares_b_              ? kPreparedPartRows
                                                           : kPartRows;
  const std::int64_t max_tasks =
      batch_ > 1
          ? kMaxScratchTasks
          : std::clamp<std::int64_t>(by_rows ? m_ / min_rows : n_ / kPartColumns, 1,
                                     packs_b && !prepares_b_ ? kPackedTasks : kMaxScratchTasks);
  const std::int64_t work = batch_ == 1 ? kPartWork : kBatchWork;
  const std::int64_t tasks = std::clamp<std::int64_t>(batch_ * per_batch / work, 1, max_tasks);
  if (batch_ > 1) {
    parts_.batches.step = std::max<std::int64_t>((batch_ + tasks - 1) / tasks, 1);
  } else if (m_ >= kTallRows && k_ * n_ <= kSoonPacked) {
    const bool is_direct = a_.stored == DType::kF32 && !copies_a();  // needs no scratch
    const std::int64_t rows = kTallPartBytes / (n_ * bytes_of(result_));
    parts_.rows = make_grid(m_, std::max(rows, kPartRows / 2), 16,
                            is_direct ? ScratchSlots::kMaxSlots : kMaxScratchTasks);
  } else if (by_rows) {
    parts_.rows = make_grid(m_, (m_ + tasks - 1) / tasks, 16);
  } else {
    parts_.columns = make_grid(n_, (n_ + tasks - 1) / tasks, 64);
  }
}

std::int64_t DotKernel::max_tile_tasks() const {
  const std::int64_t max_tasks = std::min(m_ * n_ * k_ / kTilePartWork, kTileTasks);
  return std::clamp<std::int64_t>(std::max(m_, n_) / kTilePartSide, 1,
                                  std::max<std::int64_t>(max_tasks, 1));
}

Parts DotKernel::tile_parts(std::int64_t tasks) const {
  Parts out{{1, 1}, {m_, m_}, {n_, n_}};
  Grid& longer = m_ >= n_ ? out.rows : out.columns;
  longer.step = even_step(longer.size, (longer.size + tasks - 1) / tasks, TileProduct::kSide);
  return out;
}

std::unique_ptr<Matmul> DotKernel::describe_matmul(const Part& part, const Matmul* like) const {
  const MatmulShape shape{part.batches, part.rows,  part.columns,    k_,
                          a_.stored,    result_,    a_.batch_stride, b_.batch_stride,
                          m_ * n_,      a_.strides, b_.strides,      n_};
  return prepares_b_ ? Matmul::describe_prepared(shape, like) : Matmul::describe(shape);
}

void DotKernel::choose_product(const Target& target) {
  if (batch_ * m_ * n_ * k_ == 0) return;
  const bool small = m_ < kSmallSide || n_ < kSmallSide;
  const bool transposed_b = b_.strides.column != 1;
  const auto describe = [&] {
    const Part whole = parts_.largest();
    const Part last = parts_.part(parts_.tasks() - 1);
    matmul_[0] = describe_matmul(whole, nullptr);
    if (matmul_[0] != nullptr && !is_whole(last))
      matmul_[1] = describe_matmul(last, matmul_[0].get());
  };
  if (multiplies_bf16(target)) describe();
  if (matmul_[0] != nullptr) return;
  const bool f32 = a_.stored == DType::kF32;
  if (!f32 || copies_a() || result_ != DType::kF32) {
    blocked_.emplace(loops_, BlockedOperand{a_.stored, a_.strides, f32 && !copies_a()},
                     BlockedOperand{b_.stored, b_.strides, f32}, k_, result_, n_);
  } else if (!small && (batch_ > 1 || transposed_b)) {
    describe();
  }
}

std::size_t DotKernel::task_bytes(const Parts& parts) const {
  const Part part = parts.largest();
  if (tiles_) return scratch_aligned(tiles_->scratch_bytes(part.rows, part.columns));
  if (blocked_) return scratch_aligned(blocked_->scratch_bytes(part.rows, part.columns));
  std::size_t out = 0;
  for (const auto& matmul : matmul_)
    if (matmul != nullptr) out = std::max(out, scratch_aligned(matmul->scratch_bytes()));
  return out;
}

void DotKernel::lay_out_scratch() {
  std::size_t offset = 0;
  const auto take = [&](std::size_t bytes) {
    const std::size_t at = offset;
    offset += scratch_aligned(bytes);
    return at;
  };
  const auto copy_bytes = [](const DotOperand& operand) {
    return operand.copied ? static_cast<std::size_t>(operand.elements) * size_of(operand.stored)
                          : 0;
  };
  task_bytes_ = task_bytes(parts_);
  if (!tiles_ && task_bytes_ > 0) take(ScratchSlots::kHeadBytes);
  a_offset_ = take(copy_bytes(a_));
  b_offset_ = take(copy_bytes(b_));
  prepared_offset_ = take(is_b_prepared() ? matmul_[0]->prepared_bytes() : 0);
  std::size_t bytes = 0;  // of all tasks
  const std::int64_t max_tasks = tiles_ && batch_ == 1 ? max_tile_tasks() : 1;
  for (std::int64_t threads = 1; threads <= max_tasks; ++threads) {
    const Parts parts = divided(static_cast<int>(threads));
    bytes = std::max(bytes, task_bytes(parts) * static_cast<std::size_t>(parts.tasks()));
  }
  task_offset_ = take(bytes);
  scratch_bytes_ = offset;
}

void DotKernel::run(const KernelCall& call) const {
  if (is_empty()) {  // sums over nothing
    const std::size_t bytes = static_cast<std::size_t>(batch_ * m_ * n_) * size_of(result_);
    if (bytes > 0) std::memset(call.results[0], 0, bytes);
    return;
  }
  if (!tiles_) return TaskKernel::run(call);
  copy_in_order(a_, call.operands[0], call.scratch + a_offset_, call.pool);
  copy_in_order(b_, call.operands[1], call.scratch + b_offset_, call.pool);
  const Parts parts = divided(call.pool.threads());
  ScratchSlots slots(call.scratch + task_offset_, task_bytes(parts));
  call.pool.parallel_for(parts.tasks(), [&](std::int64_t task) {
    const ScratchSlots::Slot slot(slots);
    run_part(parts.part(task), call, slot.memory());
  });
}

void DotKernel::run_part(const Part& at, const KernelCall& call, std::byte* scratch) const {
  const std::byte* a = a_.copied ? call.scratch + a_offset_ : call.operands[0];
  const std::byte* b = b_.copied ? call.scratch + b_offset_ : call.operands[1];
  std::byte* c = call.results[0];
  const auto in = static_cast<std::int64_t>(size_of(a_.stored));
  const auto out = static_cast<std::int64_t>(size_of(result_));
  a += (at.batch * a_.batch_stride + at.row * a_.strides.row) * in;
  b += (at.batch * b_.batch_stride + at.column * b_.strides.column) * in;
  c += (at.batch * m_ * n_ + at.row * n_ + at.column) * out;
  if (is_b_prepared()) b = call.scratch + prepared_offset_;
  if (matmul_[0] != nullptr) {
    matmul_[is_whole(at) ? 0 : 1]->run(a, b, c, scratch);
    return;
  }
  for (std::int64_t i = 0; i < at.batches; ++i) {
    const std::byte* left = a + i * a_.batch_stride * in;
    const std::byte* right = b + i * b_.batch_stride * in;
    std::byte* to = c + i * m_ * n_ * out;
    if (tiles_) {
      tiles_->run(at.rows, at.columns, left, right, to, scratch);
    } else if (blocked_) {
      blocked_->run(at.rows, at.columns, left, right, to, scratch);
    } else {
      gemm_f32(at.rows, at.columns, k_, 1.0F, reinterpret_cast<const float*>(left), a_.strides,
               reinterpret_cast<const float*>(right), b_.strides, 0.0F,
               reinterpret_cast<float*>(to), n_);
    }
  }
}

}  // namespace

KernelPtr plan_dot(const Node& node, Types operands, const Target& target) {
  // f64 and integers are for oracles and counting: a fast product would not pay.
  const DType dtype = operands[0].dtype;
  const bool fast = is_float(dtype) && dtype != DType::kF64 && is_float(node.type.dtype) &&
                    node.type.dtype != DType::kF64;
  if (!fast) return plan_reference_kernel(node, operands, WorkClass::kDot);
  if (KernelPtr kernel = plan_few_rows_dot(node, operands, target)) return kernel;
  return std::make_unique<DotKernel>(node, operands, target);
}

}  // namespace lockstep
