#include "core/ir/signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/ir/type_list.h"

namespace lockstep {
namespace {

AttrSignature make_signature(Op op) {
  using enum Attr;
  switch (op) {
    case Op::kIota: return {{kShape, kAxis, kTo}, {}};
    case Op::kRandomBits: return {{kShape, kStream}, {}};
    case Op::kConvert: return {{kTo}, {}};
    case Op::kBroadcast: return {{kShape, kDims}, {}};
    case Op::kReshape:
    case Op::kDynamicSlice: return {{kShape}, {}};
    case Op::kTranspose: return {{kDims}, {}};
    case Op::kSlice: return {{kStart, kLimit, kStride}, {}};
    case Op::kPad: return {{kLow, kHigh}, {}};
    case Op::kConcatenate:
    case Op::kGather:
    case Op::kScatterAdd:
    case Op::kArgMax:
    case Op::kArgMin: return {{kAxis}, {}};
    case Op::kReduceSum:
    case Op::kReduceProduct:
    case Op::kReduceMax:
    case Op::kReduceMin: return {{kDims}, {}};
    case Op::kDotGeneral: return {{kLhsBatch, kRhsBatch, kLhsContract, kRhsContract}, {kTo}};
    case Op::kConvolution: return {{kStride, kPadding, kDilation, kGroups}, {}};
    case Op::kConvolutionGradInput:
    case Op::kConvolutionGradWeight: return {{kShape, kStride, kPadding, kDilation, kGroups}, {}};
    case Op::kMaxPool:
    case Op::kMaxPoolGrad:
    case Op::kAvgPool: return {{kWindow, kStride, kPadding}, {}};
    case Op::kAvgPoolGrad: return {{kShape, kWindow, kStride, kPadding}, {}};
    case Op::kAttention:
    case Op::kAttentionGrad: return {{kScale, kDropout}, {kCausal, kMasked, kStream}};
    case Op::kReduceScatter:
    case Op::kAllGather: return {{kRanks}, {}};
    case Op::kCollectiveBroadcast: return {{kRoot}, {}};
    case Op::kFusion: return {{kShape, kAxis}, {}};
    case Op::kGroupResult: return {{kIndex}, {}};
    case Op::kHostCall: return {{kFunction, kVersion, kResults}, {}};
    case Op::kInput:
    case Op::kConstant:
    case Op::kReplicaId:
    case Op::kNegate:
    case Op::kAbs:
    case Op::kSign:
    case Op::kExp:
    case Op::kLog:
    case Op::kTanh:
    case Op::kErf:
    case Op::kSqrt:
    case Op::kRsqrt:
    case Op::kSin:
    case Op::kCos:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kRoundEven:
    case Op::kIsFinite:
    case Op::kNot:
    case Op::kAdd:
    case Op::kSubtract:
    case Op::kMultiply:
    case Op::kDivide:
    case Op::kRemainder:
    case Op::kPower:
    case Op::kMaximum:
    case Op::kMinimum:
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
    case Op::kShiftLeft:
    case Op::kShiftRightLogical:
    case Op::kEqual:
    case Op::kNotEqual:
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kGreater:
    case Op::kGreaterEqual:
    case Op::kSelect:
    case Op::kDynamicUpdateSlice:
    case Op::kOptimizationBarrier:
    case Op::kCall:
    case Op::kAllReduce: return {};
  }
  __builtin_unreachable();
}

bool contains(const std::vector<Attr>& list, Attr attr) {
  return std::find(list.begin(), list.end(), attr) != list.end();
}

}  // namespace

const AttrSignature& attr_signature(Op op) {
  static const auto table = [] {
    std::array<AttrSignature, kOpCount> out;
    for (int i = 0; i < kOpCount; ++i)
      out[static_cast<std::size_t>(i)] = make_signature(static_cast<Op>(i));
    return out;
  }();
  return table[static_cast<std::size_t>(op)];
}

namespace {

/// What is wrong with the words of one attribute; empty if nothing is.
std::string check_values(Attr attr, IntView values) {
  const auto is_byte = [](std::int64_t word) { return word >= 0 && word <= 0xff; };
  switch (type_of(attr)) {
    case AttrType::kInts: return "";
    case AttrType::kText:
      if (values.empty() || !std::ranges::all_of(values, is_byte))
        return fmt::format("the attribute '{}' is no text", name_of(attr));
      return "";
    case AttrType::kTypes:
      if (!is_type_list(values) || values.empty())
        return fmt::format("the attribute '{}' is no list of types", name_of(attr));
      return "";
    case AttrType::kInt:
    case AttrType::kFloat:
    case AttrType::kFlag:
    case AttrType::kDType: break;
  }
  if (values.size() != 1)
    return fmt::format("the attribute '{}' must have one value", name_of(attr));
  if (type_of(attr) == AttrType::kDType &&
      !(values[0] >= 0 && values[0] <= static_cast<std::int64_t>(DType::kBool)))
    return fmt::format("the attribute '{}' is not a dtype", name_of(attr));
  return "";
}

}  // namespace

std::string check_attrs(Op op, const Attrs& attrs) {
  const AttrSignature& signature = attr_signature(op);
  for (const Attr attr : signature.required)
    if (!attrs.has(attr))
      return fmt::format("{} needs the attribute '{}'", name_of(op), name_of(attr));
  for (const Attrs::Entry& entry : attrs.entries()) {
    if (!contains(signature.required, entry.attr) && !contains(signature.optional, entry.attr))
      return fmt::format("{} takes no attribute '{}'", name_of(op), name_of(entry.attr));
    if (std::string wrong = check_values(entry.attr, entry.values); !wrong.empty()) return wrong;
  }
  if (attrs.has(Attr::kDropout) && attrs.real(Attr::kDropout) > 0 && !attrs.has(Attr::kStream))
    return fmt::format("{} with dropout needs the attribute 'stream'", name_of(op));
  return "";
}

}  // namespace lockstep
