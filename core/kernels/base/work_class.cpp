#include "core/kernels/base/work_class.h"

namespace lockstep {

std::string_view name_of(WorkClass work) {
  switch (work) {
    case WorkClass::kDot: return "dot";
    case WorkClass::kConvolution: return "convolution";
    case WorkClass::kAttention: return "attention";
    case WorkClass::kPool: return "pool";
    case WorkClass::kReduce: return "reduce";
    case WorkClass::kFused: return "fused";
    case WorkClass::kFusedReduce: return "fused-reduce";
    case WorkClass::kMovement: return "movement";
    case WorkClass::kGather: return "gather";
    case WorkClass::kScatterAdd: return "scatter_add";
    case WorkClass::kOptimizer: return "optimizer";
    case WorkClass::kCopy: return "copies";
    case WorkClass::kCollective: return "collective";
    case WorkClass::kHostCall: return "host call";
  }
  __builtin_unreachable();
}

}  // namespace lockstep
