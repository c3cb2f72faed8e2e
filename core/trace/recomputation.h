// The values of a region of remat(), computed again. Internal to core/trace.
#pragma once

#include <map>
#include <vector>

#include "core/trace/context.h"

namespace lockstep {

/// Which pending values differ from batch to batch. The others (parameters, constants, and values
/// computed from them) are available anyway.
std::vector<bool> find_varying(const Graph& graph);

/// Records a region's nodes a second time, each when first asked for. Their operands from outside
/// go through optimization_barriers, so that no pass merges the copies with the originals. The
/// barriers wait for the gradient that needs the copy: nothing is computed again earlier.
class Recomputation {
 public:
  /// `varying` is find_varying() of the pending graph; it and the region must outlive this.
  Recomputation(TraceContext& context, const RematRegion& region, const std::vector<bool>& varying)
      : context_(context), region_(region), varying_(varying) {}

  /// A value of the region or an operand of one: the copy's, or the value itself if it is kept.
  /// `gradient` is the gradient whose rule reads the value.
  ValueId copy_of(ValueId id, const Tensor& gradient);

 private:
  bool is_inside(ValueId id) const;
  ValueId record_copy(ValueId id, const Tensor& gradient);

  TraceContext& context_;
  const RematRegion& region_;
  const std::vector<bool>& varying_;
  std::map<ValueId, ValueId> copies_;
};

}  // namespace lockstep
