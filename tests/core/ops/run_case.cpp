#include "tests/core/ops/run_case.h"

#include "core/kernels/codegen/code_cache.h"
#include "core/kernels/plan_kernel.h"

namespace lockstep {

std::shared_ptr<const Kernel> make_kernel(const OpCase& c, const Target& target) {
  const std::vector<Type> types = c.operand_types();
  // Code that several cases share is generated once.
  static codegen::CodeCache avx2(Isa::kAvx2);
  static codegen::CodeCache avx512(Isa::kAvx512);
  auto kernel = plan_kernel(c.node(), types, target);
  kernel->generate({.codes = target.isa == Isa::kAvx2 ? avx2 : avx512, .log = Log::null()});
  return kernel;
}

HostTensor run_case(const Kernel& kernel, const OpCase& c, ThreadPool& pool,
                    const RunOptions& options) {
  const Type type = c.node().type;
  return run_kernel(kernel, c.operands, {&type, 1}, pool, options)[0];
}

}  // namespace lockstep
