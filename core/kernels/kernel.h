// A kernel runs one node of a compiled graph (an op or a fused group) on dense row-major operands
// in device memory. Kernels are immutable and shared: structurally equal nodes use one kernel.
//
// Determinism (see ARCHITECTURE.md): a kernel's bits depend on its node and its operands, never on
// the number of threads, on alignment, or on which thread did the work.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "core/base/thread_pool.h"
#include "core/ir/graph.h"
#include "core/ir/target.h"

namespace lockstep {

struct KernelCall {
  std::span<const std::byte* const> operands;  ///< one per operand of the node
  std::span<std::byte* const> results;         ///< one today; groups may have several
  std::byte* scratch = nullptr;                ///< Kernel::scratch_bytes() bytes, 64-byte aligned
  ThreadPool& pool;                            ///< the device's cores
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(const KernelCall& call) const = 0;
  /// Working memory for one call; independent of the number of threads.
  virtual std::size_t scratch_bytes() const { return 0; }
  /// A short class name for ledgers: "dot", "fused", "reduce", ...
  virtual std::string name() const = 0;
  /// Whether results[0] may be the same memory as operand i of a call (elementwise kernels that
  /// read element j of operand i only before they write element j).
  virtual bool may_alias(std::size_t operand) const {
    (void)operand;
    return false;
  }
};

/// The production kernel for a node with these operand types. Internal error for leaves, views,
/// calls and collectives: those are no kernels.
std::shared_ptr<const Kernel> make_kernel(const Node& node, std::span<const Type> operands,
                                          const Target& target);

}  // namespace lockstep
