// The division of work into tasks: by the shape alone, so that results never depend on the number
// of threads. Code that divides by threads states why no sum can change.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lockstep {

inline std::int64_t round_up(std::int64_t count, std::int64_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

/// The size of steps, at most `most`, that divide `size` evenly, rounded to whole multiples.
inline std::int64_t even_step(std::int64_t size, std::int64_t max_step, std::int64_t multiple) {
  const std::int64_t steps = std::max<std::int64_t>((size + max_step - 1) / max_step, 1);
  return round_up((size + steps - 1) / steps, multiple);
}

/// Kernels that need working memory for every task use at most this many tasks, so that scratch is
/// bounded and does not depend on the pool.
inline constexpr std::int64_t kMaxScratchTasks = 16;

/// [0, size) in runs of `step` (the last may be shorter).
struct Grid {
  std::int64_t size;
  std::int64_t step;

  std::int64_t tasks() const { return (size + step - 1) / step; }
  std::int64_t begin(std::int64_t task) const { return task * step; }
  std::int64_t end(std::int64_t task) const { return std::min(size, (task + 1) * step); }
};

/// Runs of about `wanted` units, rounded up to a multiple of `multiple`, at most `max_tasks` of
/// them.
inline Grid make_grid(std::int64_t size, std::int64_t wanted, std::int64_t multiple = 1,
                      std::int64_t max_tasks = INT64_MAX) {
  const std::int64_t min_step = max_tasks == INT64_MAX ? 1 : (size + max_tasks - 1) / max_tasks;
  const std::int64_t step = std::max<std::int64_t>({wanted, min_step, 1});
  const std::int64_t rounded = (step + multiple - 1) / multiple * multiple;
  return {size, std::clamp<std::int64_t>(rounded, 1, std::max<std::int64_t>(size, 1))};
}

/// The work of a task, in elements moved or computed: large against the cost of starting it on a
/// thread (about 1 us), small against a kernel that is worth dividing.
inline constexpr std::int64_t kTaskElements = 32768;

}  // namespace lockstep
