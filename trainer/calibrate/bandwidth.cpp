#include "trainer/calibrate/bandwidth.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/thread_pool.h"
#include "trainer/calibrate/busy_cores.h"
#include "trainer/machine/machine.h"

namespace lockstep {
namespace {

// Separate functions with arrays that do not alias, so that the loops are vectorized.
__attribute__((target("avx512f,prefer-vector-width=512"))) void triad_avx512(
    float* __restrict a, const float* __restrict b, const float* __restrict c, float s,
    std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) a[i] = b[i] + s * c[i];
}

__attribute__((target("avx2"))) void triad_avx2(float* __restrict a, const float* __restrict b,
                                                const float* __restrict c, float s,
                                                std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) a[i] = b[i] + s * c[i];
}

/// `count` arrays of equal size, `bytes` in total.
struct Arrays {
  Arrays(std::int64_t bytes, std::int64_t count)
      : elements(bytes / count / static_cast<std::int64_t>(Buffer::kAlignment) *
                 static_cast<std::int64_t>(Buffer::kAlignment / sizeof(float))) {
    for (std::int64_t i = 0; i < count; ++i) {
      memory.push_back(allocate_host(bytes_each()));
      std::fill_n(at(memory.size() - 1), elements, 1.0F);
    }
  }
  float* at(std::size_t i) const { return reinterpret_cast<float*>(memory[i]->data()); }
  std::size_t bytes_each() const { return static_cast<std::size_t>(elements) * sizeof(float); }

  std::int64_t elements;
  std::vector<BufferPtr> memory;
};

/// Bytes per second of all threads; `pass` goes over a thread's `arrays` once.
template <class Pass>
double rate_of(int threads, std::int64_t working_set, std::int64_t arrays, double seconds,
               const Pass& pass) {
  // Long enough that the time to start tasks is negligible, even if the data is in a cache.
  constexpr std::int64_t kBytesOfTask = 256 << 20;
  const std::int64_t passes = std::max<std::int64_t>(1, kBytesOfTask / working_set);
  std::size_t bytes = 0;
  const auto make = [&] {
    auto pool = std::make_shared<ThreadPool>(threads);
    auto of_thread =
        std::make_shared<std::vector<std::unique_ptr<Arrays>>>(static_cast<std::size_t>(threads));
    // Each is made by one thread, on that thread's NUMA node, if each thread gets one task.
    pool->parallel_for(threads, [&](std::int64_t i) {
      (*of_thread)[static_cast<std::size_t>(i)] = std::make_unique<Arrays>(working_set, arrays);
    });
    bytes = (*of_thread)[0]->bytes_each() * static_cast<std::size_t>(arrays);
    return [pool, of_thread, passes, pass, threads] {
      pool->parallel_for(threads, [&](std::int64_t i) {
        for (std::int64_t p = 0; p < passes; ++p) pass(*(*of_thread)[static_cast<std::size_t>(i)]);
      });
    };
  };
  const double min = min_seconds(make, 1, seconds);
  return static_cast<double>(bytes) * static_cast<double>(passes) * threads / min;
}

}  // namespace

MemoryRate measure_bandwidth(const Target& target, int threads, std::int64_t working_set,
                             double seconds) {
  MemoryRate out{working_set, threads};
  out.copy_bytes_per_s = rate_of(threads, working_set, 2, seconds, [](const Arrays& arrays) {
    std::memcpy(arrays.at(0), arrays.at(1), arrays.bytes_each());
  });
  const auto triad = target.isa == Isa::kAvx512 ? triad_avx512 : triad_avx2;
  out.triad_bytes_per_s = rate_of(threads, working_set, 3, seconds, [triad](const Arrays& arrays) {
    triad(arrays.at(0), arrays.at(1), arrays.at(2), 3.0F, arrays.elements);
  });
  return out;
}

std::int64_t set_beyond_caches(int threads) {
  constexpr std::int64_t kSet = 192 << 20;
  constexpr std::int64_t kMinBytes = 12 << 20;
  const auto available = static_cast<std::int64_t>(available_memory());
  if (available == 0) return kSet;  // unknown
  return std::clamp(available / 4 / threads, kMinBytes, kSet);
}

}  // namespace lockstep
