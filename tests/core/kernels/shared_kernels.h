// The kernels that all tests of this folder run, for both instruction sets, and the threads that
// run them.
#pragma once

#include <map>
#include <memory>
#include <span>

#include "core/base/thread_pool.h"
#include "core/kernels/kernel_cache.h"

namespace lockstep::cpu_test {

/// vdpbf16ps if the processor has it, fast or slow: it must be correct.
inline Bf16Units bf16_units() {
  return __builtin_cpu_supports("avx512bf16") ? Bf16Units::kVectors : Bf16Units::kNone;
}

/// The kernels of all tests, so that code for several cases is generated once.
inline std::shared_ptr<const Kernel> shared_kernel(const Node& node, std::span<const Type> operands,
                                                   Isa isa) {
  static KernelCache avx2({.isa = Isa::kAvx2});
  static KernelCache avx512({.isa = Isa::kAvx512, .bf16 = bf16_units()});
  return (isa == Isa::kAvx2 ? avx2 : avx512).get(node, operands);
}

/// A pool of so many threads. With the address sanitizer a thread takes longer to start and to end
/// than most kernels take to run.
inline ThreadPool& shared_pool(int threads) {
  static std::map<int, ThreadPool> pools;
  return pools.try_emplace(threads, threads).first->second;
}

}  // namespace lockstep::cpu_test
