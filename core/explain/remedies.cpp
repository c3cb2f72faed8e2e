#include "core/explain/remedies.h"

#include "core/explain/cause.h"

namespace lockstep {

std::string_view remedy_of_size(const ChangedSize& changed) {
  if (changed.dimension == "batch")
    return "keep the batch size the same in every step: one micro_batch_size for all loaders and "
           "one eval_batch_size for all evaluations (training.micro_batch_size, eval.batch_size), "
           "the last batch filled up and masked, or left out";
  switch (changed.kind) {
    case InputKind::kBatch:
      if (changed.padded) return remedy_of(Cause::kInputShape);
      return "give all samples one size in the dataset, resized or padded, or a few sizes; only "
             "fields that are declared variable_length are padded by the loader";
    case InputKind::kParameter:
      return "a parameter's size is part of the program: make the module once, before the steps, "
             "in its largest size, and mask what is not to count";
    case InputKind::kState:
    case InputKind::kScalar:
      return "give it its largest size in every step and mask the rest, or take a few sizes; what "
             "grows from step to step is written into that by dynamic_update_slice(), not appended";
  }
  __builtin_unreachable();
}

std::string_view remedy_of_attr(Attr attr, bool resizes) {
  switch (attr) {
    case Attr::kFunction:
    case Attr::kVersion:
      return "call one function of one version in every step; what changes comes in as an "
             "operand";
    case Attr::kStart:
    case Attr::kLimit:
      return resizes ? kSliceRemedy
                     : "take dynamic_slice() with starts that are scalar(): "
                       "x.context().scalar(start, DType::kI64, name)";
    case Attr::kScale:
      return "multiply by a scalar() instead: x.context().scalar(value, dtype, name)";
    case Attr::kTo: return "take one dtype in every step";
    case Attr::kStream: return kDrawRemedy;
    case Attr::kShape:
    case Attr::kLow:
    case Attr::kHigh:
    case Attr::kResults: return resizes ? kSizeRemedy : remedy_of(Cause::kAttribute);
    case Attr::kDims:
    case Attr::kAxis:
    case Attr::kStride:
    case Attr::kLhsBatch:
    case Attr::kRhsBatch:
    case Attr::kLhsContract:
    case Attr::kRhsContract:
    case Attr::kPadding:
    case Attr::kDilation:
    case Attr::kGroups:
    case Attr::kWindow:
    case Attr::kCausal:
    case Attr::kMasked:
    case Attr::kDropout:
    case Attr::kRanks:
    case Attr::kRoot:
    case Attr::kIndex:
    case Attr::kChannelsLast: return remedy_of(Cause::kAttribute);
  }
  __builtin_unreachable();
}

}  // namespace lockstep
