// The tuned numbers of products: which strategy multiplies what, in which parts, in which blocks.
// Each has its unit and what was measured, or why it is so. Most of them decide in which order sums
// are added, so that another value is another result in its last bits.
//
// Sizes of products are m x n x k. The strategies, measured on Zen 5, GFLOP/s of one thread (peaks
// 256 in f32, 512 in bf16):
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
#pragma once

#include <cstdint>

namespace lockstep::product::tuning {

/// Rows or columns below which a matmul primitive is slower than dnnl_sgemm.
inline constexpr std::int64_t kSmallSide = 8;

/// How a product is divided into tasks, but for tiles and few rows (parts.cpp).
namespace parts {
/// Multiply-adds for which a separate task of some batches pays: about 40 us.
inline constexpr std::int64_t kBatchWork = std::int64_t{1} << 22;
/// The same for a part of one product, about 1 ms: every part packs the other operand again, which
/// costs 10 % where 768x128x512 is divided at 40 us.
inline constexpr std::int64_t kWork = std::int64_t{1} << 27;
/// Maximum of tasks of a product that packs its b for each: with 16 the shapes above are 9 % slower
/// in the mean, 30 % at worst.
inline constexpr std::int64_t kPackedTasks = 4;
/// Minimum sides of a part, for the same reason. Sapphire Rapids' successor, f32 in a step of BERT
/// base, over parts with sides of 256: 1024x3072x768 by 768 columns 1.10, 1024x768x3072 by 512 rows
/// 1.04, 1024x768x768 1.015.
inline constexpr std::int64_t kRows = 384;
inline constexpr std::int64_t kColumns = 768;
/// Minimum of rows where all parts read one packed b; with half of that 1576x3072x768 is 1.5 %
/// slower.
inline constexpr std::int64_t kPreparedRows = 192;
/// Parts begin at multiples of so many rows or columns: at a whole vector or line of the cache.
inline constexpr std::int64_t kRowStep = 16;
inline constexpr std::int64_t kColumnStep = 64;
/// Products of at least this many rows, such as pointwise convolutions, with a b of at most so many
/// elements, which is soon packed, have parts whose results, of so many bytes, stay in a cache for
/// the next reader.
inline constexpr std::int64_t kTallRows = 2048;
inline constexpr std::int64_t kTallWeights = std::int64_t{1} << 17;
inline constexpr std::int64_t kTallBytes = std::int64_t{1} << 19;
inline constexpr std::int64_t kTallMinRows = kRows / 2;
}  // namespace parts

/// A product that would be one part, but is divided in two: multiply-adds for which that pays on
/// two threads (0.6 ms), and the minimum sides of a half. Zen 5, one thread, f32, GFLOP/s whole and
/// in halves: x^T dy of 384x1152x2048 201 and 207, 384x384x2048 208 and 209. With half of that work
/// a step of 768x512x128 and the like is 1.5 % slower on one thread, 11 % faster on two.
namespace halves {
inline constexpr std::int64_t kWork = std::int64_t{1} << 26;
inline constexpr std::int64_t kRows = 192;
inline constexpr std::int64_t kColumns = 192;
}  // namespace halves

/// An a of f32 whose rows lie by a multiple of kBytes from column to column, for kColumns columns
/// or more: lines so far apart share two sets of the first cache or one. Where it has kCopyColumns
/// and b is narrow, it is copied first (Emerald Rapids: 1536x384x2048 157 GFLOP/s instead of 125),
/// else it has parts of kPartRows (3072x768x1024 161, 134 by 768 rows, 140 if copied; 3072x768x512
/// in a step of Llama 171, 158 by 384 rows).
namespace aliased {
inline constexpr std::int64_t kBytes = 2048;
inline constexpr std::int64_t kColumns = 512;
inline constexpr std::int64_t kCopyColumns = 1024;
inline constexpr std::int64_t kNarrowColumns = 512;  ///< of b, at most
inline constexpr std::int64_t kPartRows = 1536;
}  // namespace aliased

/// A b of bf16 that all parts share is packed once before them. Zen 4, GFLOP/s of one thread of
/// two, in four parts: 1576x768x768 220 instead of 213, 1576x768x3072 226 and 206, 1576x3072x768
/// 220 and 210; by w^T 219 and 215, 212 and 218, 216 and 207. In f32 there is no such gain, nor in
/// gradients of weights.
namespace prepared {
inline constexpr std::int64_t kRows = 2 * parts::kRows;  ///< of the product, at least: two parts
inline constexpr std::int64_t kColumns = 16;             ///< of the product, at least
/// Not where columns of b lie by a multiple of this many bytes: packing would gather such lines.
inline constexpr std::int64_t kGatheredBytes = aliased::kBytes;
}  // namespace prepared

/// A few rows by a matrix (few_rows_strategy.cpp).
namespace few_rows {
inline constexpr std::int64_t kMaxRows = 8;
/// Elements of the matrix: below, it stays in the cache, where dnnl_sgemm is as fast.
inline constexpr std::int64_t kMinWeights = std::int64_t{1} << 19;
/// Sums of a task: they stay in the second cache.
inline constexpr std::int64_t kMaxSums = std::int64_t{1} << 15;
/// Columns of a task that reads a part of each row, at least, and of one of a transposed matrix.
inline constexpr std::int64_t kMinColumns = 256;
inline constexpr std::int64_t kTransposedColumns = 1024;
/// Floats of a line of the cache.
inline constexpr std::int64_t kLine = 16;
/// Rows of a matrix that are read side by side.
inline constexpr std::int64_t kSide = 4;
/// How far ahead of the reads memory is fetched into the second-level cache: in rows or keys, and
/// in bytes where whole rows are read one after another.
inline constexpr std::int64_t kRowsAhead = 8;
inline constexpr std::int64_t kBytesAhead = 8192;
}  // namespace few_rows

/// Products of bf16 by AMX's tiles (tile_strategy.cpp, tile_product.cpp).
namespace tiles {
/// Rows or columns below which most of a tile is empty.
inline constexpr std::int64_t kMinSide = 16;
/// A product by tiles is one part for each thread, as every part packs an operand again (BERT base,
/// one thread: dots 5 % faster than in four parts). The maximum of such parts, to limit scratch,
/// and the minimum side and multiply-adds of one: about 60 us.
inline constexpr std::int64_t kMaxTasks = 8;
inline constexpr std::int64_t kPartSide = 128;
inline constexpr std::int64_t kPartWork = std::int64_t{1} << 25;
/// Maximum of k whose panels are multiplied one after the other: 24 KiB of the left one stay in the
/// first-level cache. Sapphire Rapids' successor, one thread, panels in the second-level cache:
/// 1850 GFLOP/s with 384, 1640 with 512, 1260 with 768; its tiles alone give 2150.
inline constexpr std::int64_t kSubDepth = 384;
/// Most of k that is packed at a time, and of the right operand's elements, in a little more than
/// half of 2 MiB of L2. Times of the products of a step of BERT base, operands and results from
/// memory, over those here: 2^19 elements 1.05, 3/4 2^20 1.07; a depth of 512 1.01, 1,024 1.03.
inline constexpr std::int64_t kDepth = 768;
inline constexpr std::int64_t kRightElements = std::int64_t{768} * 768;
/// The same for k if sums are the result: further parts of k would read and write it again.
inline constexpr std::int64_t kWideDepth = 1024;
/// Rows of the left operand that are packed at a time.
inline constexpr std::int64_t kLeftRows = 128;
/// Bytes of f32 results that would leave the second-level cache before they are read: so many or
/// more are written past it, since a write into a cache line reads the line first.
inline constexpr std::int64_t kStreamBytes = std::int64_t{1} << 20;
}  // namespace tiles

/// Products of f32 blocks of operands that are not multiplied in place (blocked_strategy.cpp).
namespace blocked {
/// Maximum of rows and columns of a block of the result, and of the elements contracted at a time.
/// Measured with 2 MiB of L2: time over that of dnnl_sgemm on f32 operands, mean over the products
/// of the benchmark models, 1.04; with sides of 384 1.06; if everything is widened first and
/// rounded last 1.14.
inline constexpr std::int64_t kRows = 384;
inline constexpr std::int64_t kColumns = 512;
inline constexpr std::int64_t kDepth = 384;
/// Sides of a block are multiples of this: whole vectors.
inline constexpr std::int64_t kVector = 16;
}  // namespace blocked

}  // namespace lockstep::product::tuning
