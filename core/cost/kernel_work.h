// What a program asks of a device, kernel by kernel, without any kernel of this machine: the sizes
// from which a cost model predicts times on other devices.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/dtype.h"
#include "core/ir/graph.h"

namespace lockstep {

enum class KernelKind : std::uint8_t {
  kDot,
  kConvolution,
  kAttention,  ///< fused: scores are not written to memory
};

/// A kernel whose time is that of its arithmetic, or of its operands. Equal ones are counted, not
/// repeated.
struct KernelWork {
  KernelKind kind = KernelKind::kDot;
  DType dtype = DType::kF32;  ///< of the values that are multiplied
  bool gradient = false;
  /// A dot: `batch` products [m,k] x [k,n]. A convolution: the product that it is when its windows
  /// are laid out as rows, `batch` its groups. Attention: `batch` heads of all samples, m queries,
  /// n keys, k their width.
  std::int64_t batch = 0, m = 0, n = 0, k = 0;
  std::int64_t window = 0;  ///< a convolution's: height times width
  double flops = 0;         ///< counted as in core/ir/cost.h
  double bytes = 0;         ///< read and written
  std::int64_t count = 1;
  friend auto operator<=>(const KernelWork&, const KernelWork&) = default;
};

/// Elementwise work, norms, losses, copies: kernels whose time is that of their memory traffic.
struct Traffic {
  double bytes = 0;  ///< read and written
  double kernels = 0;
};

/// Whether a node is a dot, a convolution or an attention, ...
bool is_heavy_kernel(const Node& node);
/// ... or another kernel: leaves, and nodes that only name values, run nothing.
bool is_other_kernel(const Node& node);
/// The value that a node names which itself writes nothing, such as a reshape.
ValueId shown_value(const Graph& graph, ValueId id);

/// One node that is_heavy_kernel().
KernelWork heavy_kernel(const Graph& graph, ValueId id);
/// The dots, convolutions and attentions of a recorded step, of one micro-batch.
std::vector<KernelWork> heavy_kernels(const Graph& step);

/// All else of a program that has passed the pipeline: what a compiler that fuses as this one does
/// leaves.
Traffic fused_traffic(const Graph& program);

/// All else of a recorded step before its all_reduces, as frameworks run a step that they do not
/// compile: one kernel for each call of the user's, a norm, an activation, a loss. What a call of
/// one line in one module recorded is one kernel, which reads and writes what goes in and out of
/// it; the kernel of a dot takes the bias behind it along.
Traffic call_traffic(const Graph& step);

}  // namespace lockstep
