// A kernel runs one node of a compiled graph (an op or a fused group) on dense row-major operands
// in device memory. Kernels are immutable and shared: structurally equal nodes use one kernel.
//
// A kernel is made in two phases: planning determines all its facts (KernelFacts) and takes
// microseconds; then it generates its machine code, if it has any. A caller that only plans never
// pays for code.
//
// Determinism (see ARCHITECTURE.md): a kernel's bits depend on its node and its operands, never on
// the number of threads, on alignment, or on which thread did the work.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "core/base/thread_pool.h"
#include "core/ir/graph.h"
#include "core/ir/target.h"
#include "core/kernels/base/work_class.h"

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

/// Bytes of a part of scratch memory behind which the next part is aligned, too.
inline std::size_t scratch_aligned(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

class TaskKernel;

/// The facts that a plan depends on, known before there is machine code.
class KernelFacts {
 public:
  virtual ~KernelFacts() = default;
  virtual WorkClass work() const = 0;
  /// Working memory for one call; independent of the number of threads.
  virtual std::size_t scratch_bytes() const { return 0; }
  /// Whether results[result] may be the same memory as operands[operand] of a call: the kernel
  /// reads an element of the operand only before it writes that element of the result. At most one
  /// result uses the memory of an operand, and every pair that a call uses must be allowed.
  virtual bool may_alias(std::size_t result, std::size_t operand) const {
    (void)result;
    (void)operand;
    return false;
  }
  /// Its calls as tasks (task_kernel.h), or null.
  virtual const TaskKernel* as_tasks() const { return nullptr; }
  /// Whether running calls at once with others of their kind pays; if so, as_tasks() is not null.
  virtual bool joins_bundles() const { return false; }
};

struct KernelContext;

class Kernel : public KernelFacts {
 public:
  /// Makes the machine code that run() needs; changes none of the facts.
  virtual void generate(const KernelContext& context) { (void)context; }
  virtual void run(const KernelCall& call) const = 0;
  /// The machine code that was generated for this kernel, if any: kept on disk, and passed to
  /// generate() in another process of the same build on the same kind of CPU.
  virtual std::string_view object_code() const { return {}; }
};

/// The objects that kernels share while they generate code, and the existing code of this kernel.
struct KernelContext {
  codegen::CodeCache& codes;          ///< groups compiled before
  Log& log;                           ///< for generated code
  std::string_view object_code = {};  ///< existing code for such a kernel, if any
};

}  // namespace lockstep
