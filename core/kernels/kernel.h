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
#include <string_view>

#include "core/base/thread_pool.h"
#include "core/ir/graph.h"
#include "core/ir/target.h"

namespace lockstep {

class Log;
namespace codegen {
class CodeCache;
}

struct KernelCall {
  std::span<const std::byte* const> operands;  ///< one per operand of the node
  std::span<std::byte* const> results;         ///< one per result of the node
  std::byte* scratch = nullptr;                ///< Kernel::scratch_bytes() bytes, 64-byte aligned
  ThreadPool& pool;                            ///< the device's cores
};

class TaskKernel;

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(const KernelCall& call) const = 0;
  /// Working memory for one call; independent of the number of threads.
  virtual std::size_t scratch_bytes() const { return 0; }
  /// A short class name for ledgers: "dot", "fused", "reduce", ...
  virtual std::string name() const = 0;
  /// Whether results[result] may be the same memory as operands[operand] of a call: the kernel
  /// reads an element of the operand only before it writes that element of the result. At most one
  /// result lies on an operand, and all pairs that a call uses must be allowed one by one.
  virtual bool may_alias(std::size_t result, std::size_t operand) const {
    (void)result;
    (void)operand;
    return false;
  }
  /// The machine code that was generated for this kernel, if any: kept on disk, and handed to
  /// make_kernel in another process of the same build on the same kind of CPU.
  virtual std::string_view object_code() const { return {}; }
  /// This kernel if its calls can run at once with others, see task_kernel.h; else null.
  virtual const TaskKernel* as_tasks() const { return nullptr; }
};

/// What kernels share while they are made, and what is known of the one to be made.
struct KernelContext {
  codegen::CodeCache* codes = nullptr;  ///< groups compiled before; null: none
  Log* log = nullptr;                   ///< for generated code; null: silent
  std::string_view object_code;         ///< what such a kernel gave before, if anything
};

/// The production kernel for a node with these operand types. Internal error for leaves, views,
/// calls and collectives: those are no kernels.
std::shared_ptr<const Kernel> make_kernel(const Node& node, std::span<const Type> operands,
                                          const Target& target, const KernelContext& context = {});

}  // namespace lockstep
