// What a program asks of a device, kernel by kernel, without any kernel of this machine: the sizes
// from which a cost model predicts times on other devices.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/dtype.h"
#include "core/ir/graph.h"

namespace lockstep {

enum class KernelKind : std::uint8_t {
  kDot,
  kConvolution,
  kAttention,  ///< fused: scores are not written to memory
  kStreaming,  ///< all else: its time is that of its memory traffic
};
std::string_view name_of(KernelKind kind);

/// Equal kernels are counted, not repeated.
struct KernelWork {
  KernelKind kind = KernelKind::kStreaming;
  DType dtype = DType::kF32;  ///< of the values that are multiplied
  bool gradient = false;
  /// A dot: `batch` products [m,k] x [k,n]. A convolution: the product that it is when its windows
  /// are laid out as rows, `batch` its groups. Attention: `batch` heads of all samples, m queries,
  /// n keys, k their width. Zero for streaming work.
  std::int64_t batch = 0, m = 0, n = 0, k = 0;
  std::int64_t window = 0;  ///< a convolution's: height times width
  std::int64_t stride = 0;  ///< a convolution's
  double flops = 0;         ///< counted as in core/ir/cost.h
  double bytes = 0;         ///< read and written
  std::int64_t count = 1;
  friend auto operator<=>(const KernelWork&, const KernelWork&) = default;
};

/// One kernel for each node that a command computes: what a compiler that fuses as this one does
/// leaves of a program that has passed the pipeline.
std::vector<KernelWork> fused_work(const Graph& program);

/// One kernel for each call of the user's, as frameworks run a step that they do not compile: dots
/// with the bias behind them, a norm, an activation, a loss. Neighbouring nodes that a call of one
/// line in one module recorded are one kernel; it reads and writes what goes in and out of it.
/// `step` is a recorded step; only what lies before its all_reduces is counted.
std::vector<KernelWork> unfused_work(const Graph& step);

/// Equal kernels become one, in a fixed order.
std::vector<KernelWork> merged(std::vector<KernelWork> work);

}  // namespace lockstep
