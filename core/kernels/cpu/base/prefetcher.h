// Fetches rows of memory into the cache, shortly before they are needed, while products run: a
// head's rows are short and far apart, so that the processor does not prefetch them, and waiting
// for them took a quarter of the gradient's time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep {

/// A list of rows. A row that is not fetched in time only makes its product slower.
class Prefetcher {
 public:
  void clear() { size_ = next_ = 0; }

  /// `rows` of `bytes`, `stride` bytes apart. Room for 8 calls.
  void add(const std::byte* first, std::int64_t stride, std::int64_t rows, std::int64_t bytes) {
    if (rows > 0) runs_[size_++] = {first, stride, rows, bytes};
  }

  /// Starts to fetch the next row. Inlined: it is called from loops compiled for several
  /// instruction sets.
  [[gnu::always_inline]] void fetch() {
    if (next_ == size_) return;
    Run& run = runs_[next_];
    for (std::int64_t at = 0; at < run.bytes; at += kLine)
      __builtin_prefetch(run.row + at, 0, kSecondLevel);
    run.row += run.stride;
    if (--run.rows == 0) ++next_;
  }

 private:
  static constexpr std::int64_t kLine = 64;
  static constexpr int kSecondLevel = 2;
  struct Run {
    const std::byte* row;
    std::int64_t stride, rows, bytes;
  };
  Run runs_[8];
  std::size_t size_ = 0;
  std::size_t next_ = 0;
};

}  // namespace lockstep
