#include "core/kernels/cpu/product/parts.h"

#include <algorithm>
#include <bit>

#include "core/kernels/cpu/base/scratch_slots.h"
#include "core/kernels/cpu/product/tuning.h"

namespace lockstep::product {
namespace {

/// So many parts of work that pays for a task, at most.
std::int64_t count_tasks(const Problem& p, std::int64_t work, std::int64_t max_tasks) {
  const std::int64_t per_batch = std::max<std::int64_t>(p.m * p.n * p.k, 1);
  return std::clamp<std::int64_t>(p.batch * per_batch / work, 1, max_tasks);
}

/// The rows of parts whose results the next reader finds in a cache.
Grid tall_rows(const Problem& p) {
  const bool needs_scratch = p.a.stored != DType::kF32 || copies_a(p);
  const auto row_bytes = p.n * static_cast<std::int64_t>(size_of(p.result));
  return make_grid(
      p.m, std::max(tuning::parts::kTallBytes / row_bytes, tuning::parts::kTallMinRows),
      tuning::parts::kRowStep, needs_scratch ? kMaxScratchTasks : ScratchSlots::kMaxSlots);
}

bool needs_long_parts(const Problem& p) {
  return aliases_a(p) && !copies_a(p);
}

std::int64_t min_rows(const Problem& p) {
  if (needs_long_parts(p)) return tuning::aliased::kPartRows;
  return prepares_b(p) ? tuning::parts::kPreparedRows : tuning::parts::kRows;
}

/// Whether halves of a product that is too small for more parts pay for a second thread.
bool pays_in_halves(const Problem& p, bool by_rows) {
  if (p.m * p.n * p.k < tuning::halves::kWork || needs_long_parts(p)) return false;
  return by_rows ? p.m >= 2 * tuning::halves::kRows : p.n >= 2 * tuning::halves::kColumns;
}

}  // namespace

Part Parts::part(std::int64_t task) const {
  const auto size = [](const Grid& grid, std::int64_t i) { return grid.end(i) - grid.begin(i); };
  const std::int64_t b = task / rows.tasks() / columns.tasks();
  const std::int64_t r = task / columns.tasks() % rows.tasks();
  const std::int64_t c = task % columns.tasks();
  return {batches.begin(b), rows.begin(r), columns.begin(c),
          size(batches, b), size(rows, r), size(columns, c)};
}

bool Parts::is_whole(const Part& part) const {
  return part.batches == batches.step && part.rows == rows.step && part.columns == columns.step;
}

Parts undivided(const Problem& p) {
  const auto all = [](std::int64_t size) { return Grid{size, std::max<std::int64_t>(size, 1)}; };
  return {all(p.batch), all(p.m), all(p.n)};
}

Parts divide(const Problem& p) {
  Parts out = undivided(p);
  if (p.batch > 1) {
    const std::int64_t tasks = count_tasks(p, tuning::parts::kBatchWork, kMaxScratchTasks);
    out.batches.step = (p.batch + tasks - 1) / tasks;
    return out;
  }
  if (p.m >= tuning::parts::kTallRows && p.k * p.n <= tuning::parts::kTallWeights) {
    out.rows = tall_rows(p);
    return out;
  }
  const bool prepares = prepares_b(p);
  const bool by_rows = prepares || p.m >= p.n;
  // Products of bf16 and of a transposed b pack b again for every block of rows.
  const bool packs = !prepares && (p.a.stored == DType::kBF16 || p.b.strides.column != 1);
  const std::int64_t max_tasks =
      std::clamp<std::int64_t>(by_rows ? p.m / min_rows(p) : p.n / tuning::parts::kColumns, 1,
                               packs ? tuning::parts::kPackedTasks : kMaxScratchTasks);
  // A power of two: 2, 4 or 8 threads get equal shares.
  std::int64_t tasks = static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(count_tasks(p, tuning::parts::kWork, max_tasks))));
  if (tasks == 1 && pays_in_halves(p, by_rows)) tasks = 2;
  if (by_rows) {
    out.rows = make_grid(p.m, (p.m + tasks - 1) / tasks, tuning::parts::kRowStep);
  } else {
    out.columns = make_grid(p.n, (p.n + tasks - 1) / tasks, tuning::parts::kColumnStep);
  }
  return out;
}

}  // namespace lockstep::product
