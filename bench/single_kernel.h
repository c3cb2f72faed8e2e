// One production kernel on random operands, for benchmarks of single nodes.
#pragma once

#include <benchmark/benchmark.h>

#include <random>
#include <span>
#include <utility>
#include <vector>

#include "bench/target.h"
#include "core/base/buffer.h"
#include "core/base/thread_pool.h"
#include "core/ir/graph.h"
#include "core/kernels/kernel.h"
#include "core/kernels/reference.h"

namespace lockstep::bench {

class SingleKernel {
 public:
  /// op(operands){attrs} on f32, bf16 or f16 operands uniform in [-1, 1), on one thread.
  SingleKernel(Op op, std::span<const Type> operands, Attrs attrs) : pool_(1) {
    flush_denormals();
    Graph graph;
    std::vector<ValueId> ids;
    for (const Type& type : operands) {
      ids.push_back(graph.add_input(type, InputKind::kState, "x"));
      operands_.push_back(random(type, ids.size()));
    }
    const ValueId id = graph.add(op, ids, std::move(attrs));
    kernel_ = make_kernel(graph[id], operands, bench_target());
    result_ = allocate_host(graph[id].type.bytes());
    scratch_ = allocate_host(kernel_->scratch_bytes());
    for (const HostTensor& t : operands_) pointers_.push_back(t.bytes().data());
  }

  void run() {
    std::byte* results[] = {result_->data()};
    kernel_->run({pointers_, results, scratch_->data(), pool_});
  }

 private:
  static HostTensor random(const Type& type, std::uint64_t seed) {
    std::mt19937_64 engine(seed);
    std::uniform_real_distribution<double> draw(-1, 1);
    std::vector<double> values(static_cast<std::size_t>(type.elements()));
    for (double& v : values) v = draw(engine);
    return from_doubles(type.dtype, type.shape, values);
  }

  ThreadPool pool_;
  std::shared_ptr<const Kernel> kernel_;
  std::vector<HostTensor> operands_;
  std::vector<const std::byte*> pointers_;
  BufferPtr result_;
  BufferPtr scratch_;
};

/// Runs the kernel and reports GFLOP/s for `flops` a run.
inline void measure(benchmark::State& state, SingleKernel& kernel, double flops) {
  for (auto _ : state) {
    kernel.run();
    benchmark::ClobberMemory();
  }
  state.counters["GFLOP/s"] =
      benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace lockstep::bench
