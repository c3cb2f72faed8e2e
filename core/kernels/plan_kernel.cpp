#include "core/kernels/plan_kernel.h"

#include "core/base/error.h"
#include "core/kernels/codegen/code_cache.h"
#include "core/kernels/codegen/fused_kernel.h"
#include "core/kernels/cpu/kernels.h"

namespace lockstep {

std::unique_ptr<Kernel> plan_kernel(const Node& node, std::span<const Type> operands,
                                    const Target& target) {
  if (codegen::is_group(node, operands)) return codegen::plan_group_kernel(node, operands);
  auto kernel = plan_cpu_kernel(node, operands, target);
  LS_CHECK(kernel != nullptr, "{} is no kernel", name_of(node.op));
  return kernel;
}

std::shared_ptr<const Kernel> make_kernel(const Node& node, std::span<const Type> operands,
                                          const Target& target) {
  auto kernel = plan_kernel(node, operands, target);
  codegen::CodeCache codes(target.isa);
  kernel->generate({.codes = codes, .log = Log::null()});
  return kernel;
}

}  // namespace lockstep
