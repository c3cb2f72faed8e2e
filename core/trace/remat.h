// Gradient checkpointing (rematerialization; Chen et al., arXiv:1604.06174): the values of a part
// of the model are not kept for the backward pass, which computes them again from the part's
// operands. Costs one more forward pass of that part; a model of n parts keeps n boundaries and one
// part's values at a time.
//
//     for (const Block& block : blocks) x = remat(block, x);
//
// The gradients have the same bits as without it: the same ops run on the same operands, with the
// same random numbers, which are a function of their key. Side effects of recording, such as
// updates of buffers, happen once: only ops run again.
#pragma once

#include <source_location>
#include <span>
#include <utility>

#include "core/base/api.h"
#include "core/trace/context.h"
#include "core/trace/tensor.h"

namespace LOCKSTEP_API lockstep {

/// Nodes recorded while this lives form a region that gradients() computes again. A region within
/// another one is a part of that one.
class RematScope {
 public:
  explicit RematScope(TraceContext& context);  ///< begins a region in this trace
  RematScope(const RematScope&) = delete;
  RematScope& operator=(const RematScope&) = delete;

  /// Ends the region, of which only `outputs` are kept. Without outputs, the region's results are
  /// computed again, too, where a gradient reads them. A scope that ends without finish(), by an
  /// exception, has no effect. Error kUsage if a value was read inside, which cuts the trace, or
  /// for an undefined output.
  void finish(std::span<const Tensor> outputs,
              std::source_location where = std::source_location::current());
  /// The same with one output.
  void finish(const Tensor& output, std::source_location where = std::source_location::current()) {
    finish(std::span(&output, 1), where);
  }

 private:
  TraceContext& context_;
  std::uint64_t epoch_;
  ValueId begin_;
};

/// f(x, more...), x a tensor, computed again for the backward pass. f returns a Tensor or a
/// std::vector of them; other tensors that it uses (parameters, captures) count as operands, too.
template <class F, class... More>
auto remat(F&& f, const Operand& x, const More&... more) {
  RematScope scope(context_of("remat", {&x.tensor()}, x.where()));
  auto result = std::forward<F>(f)(x.tensor(), more...);
  scope.finish(result, x.where());
  return result;
}

}  // namespace lockstep
