#include "core/explain/attribute_rules.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "core/explain/literals.h"
#include "core/explain/op_groups.h"

namespace lockstep {
namespace {

Follows yes_if(bool follows) {
  return follows ? Follows::kYes : Follows::kNo;
}

template <class Fact>
std::vector<Fact> of_operands(const GraphDescriptor& graph, ValueId id,
                              Fact GraphDescriptor::Node::*fact) {
  std::vector<Fact> out;
  for (const ValueId operand : graph.operands(id)) out.push_back(graph[operand].*fact);
  return out;
}

}  // namespace

Follows AttributeRules::judge(ValueId id, Attr attr) const {
  const IntView before = find_attr(old_, old_of(id), attr);
  const IntView now = find_attr(now_, id, attr);
  switch (attr) {
    case Attr::kShape: return judge_shape(id, before, now);
    case Attr::kStart:
    case Attr::kLimit: return judge_bound(id, attr, before, now);
    case Attr::kLow:
    case Attr::kHigh: return judge_padding(id, attr, before, now);
    case Attr::kScale: return judge_scale(before, now);
    case Attr::kGroups: return yes_if(context_.sizes.explain(before, now) || has_other_rank(id));
    case Attr::kTo:
      return yes_if(context_.input_dtype || context_.mode.changes_dtypes() ||
                    of_operands(now_, id, &GraphDescriptor::Node::dtype) !=
                        of_operands(old_, old_of(id), &GraphDescriptor::Node::dtype));
    case Attr::kDims:
      // Between them a conversion may have come.
      return yes_if(has_other_rank(id) || fits_partner(id) ||
                    (context_.input_shape &&
                     of_operands(now_, id, &GraphDescriptor::Node::rank) !=
                         of_operands(old_, old_of(id), &GraphDescriptor::Node::rank)));
    case Attr::kStride:
    case Attr::kWindow: return yes_if(has_other_rank(id) || is_whole(id, before, now));
    case Attr::kAxis:
    case Attr::kLhsBatch:
    case Attr::kRhsBatch:
    case Attr::kLhsContract:
    case Attr::kRhsContract: return yes_if(has_other_rank(id));
    case Attr::kStream: return yes_if(!context_.same_ops);
    case Attr::kResults:
      return yes_if(std::ranges::any_of(now_.operands(id), [&](ValueId operand) {
        return old_of(operand) != kNoValue && !now_.same_type(operand, old_, old_of(operand));
      }));
    case Attr::kMasked: return yes_if(now_[id].operands != old_[old_of(id)].operands);
    case Attr::kDropout: return yes_if(context_.mode.changes_purpose());
    case Attr::kPadding:
    case Attr::kDilation:
    case Attr::kCausal:
    case Attr::kRanks:
    case Attr::kRoot:
    case Attr::kIndex:
    case Attr::kFunction:
    case Attr::kVersion:
    case Attr::kChannelsLast: return Follows::kNo;
  }
  __builtin_unreachable();
}

bool AttributeRules::has_other_rank(ValueId id) const {
  return std::ranges::any_of(now_.operands(id), [&](ValueId operand) {
    return old_of(operand) != kNoValue && now_[operand].rank != old_[old_of(operand)].rank;
  });
}

/// A value is repeated to the shape of what it is taken with: whether that has another shape.
bool AttributeRules::fits_partner(ValueId id) const {
  if (now_[id].op != Op::kBroadcast) return false;
  for (ValueId user = id + 1; user < now_.size(); ++user) {
    const ValueId old_user = old_of(user);
    if (old_user == kNoValue || !lockstep::is_elementwise(now_[user].op)) continue;
    const auto operands = now_.operands(user);
    const auto before = old_.operands(old_user);
    if (std::ranges::find(operands, id) == operands.end()) continue;
    for (std::size_t i = 0; i < std::min(operands.size(), before.size()); ++i)
      if (operands[i] != id && !is_leaf(now_, operands[i]) &&
          !std::ranges::equal(now_.sizes(operands[i]), old_.sizes(before[i])))
        return true;
  }
  return false;
}

Follows AttributeRules::judge_shape(ValueId id, IntView before, IntView now) const {
  // A loop over parts: of another number of them each has another size.
  if (context_.changed_places.contains({now_.line(id), now_.scope(id)})) return Follows::kYes;
  if (fits_partner(id) || has_other_rank(id)) return Follows::kYes;
  if (before.size() != now.size()) return Follows::kNo;
  Follows out = Follows::kYes;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (context_.sizes.explain(before[i], now[i])) continue;
    if (!context_.sizes.may_explain_rounded(before[i], now[i])) return Follows::kNo;
    out = Follows::kPerhaps;
  }
  return out;
}

Follows AttributeRules::judge_bound(ValueId id, Attr attr, IntView before, IntView now) const {
  if (context_.changed_places.contains({now_.line(id), now_.scope(id)})) return Follows::kYes;
  const auto old_sizes = old_.sizes(old_.operands(old_of(id))[0]);
  const auto sizes = now_.sizes(now_.operands(id)[0]);
  if (has_other_rank(id) || old_sizes.size() != sizes.size()) return Follows::kYes;
  if (before.size() != now.size()) return Follows::kNo;
  const IntView old_start = find_attr(old_, old_of(id), Attr::kStart);
  const IntView start = find_attr(now_, id, Attr::kStart);
  const IntView old_limit = find_attr(old_, old_of(id), Attr::kLimit);
  const IntView limit = find_attr(now_, id, Attr::kLimit);
  const auto follows = [&](std::size_t i) {
    if (context_.sizes.explain_bound(before[i], now[i], old_sizes[i], sizes[i])) return true;
    // Of as many elements in another place the start tells it.
    if (attr == Attr::kLimit && start[i] != old_start[i] &&
        limit[i] - start[i] == old_limit[i] - old_start[i])
      return true;
    if (sizes[i] == old_sizes[i]) return false;
    // The last elements, or all that there are of a number of them.
    const bool at_end = old_limit[i] == old_sizes[i] && limit[i] == sizes[i];
    const bool cut = old_limit[i] == old_sizes[i] || limit[i] == sizes[i];
    return attr == Attr::kStart ? at_end && old_sizes[i] - before[i] == sizes[i] - now[i] : cut;
  };
  for (std::size_t i = 0; i < now.size(); ++i)
    if (!follows(i)) return Follows::kNo;
  return Follows::kYes;
}

/// Filled up to a fixed size, or perhaps to a multiple of something.
Follows AttributeRules::judge_padding(ValueId id, Attr attr, IntView before, IntView now) const {
  if (has_other_rank(id)) return Follows::kYes;
  const auto old_sizes = old_.sizes(old_of(id));
  const auto sizes = now_.sizes(id);
  if (before.size() != now.size() || old_sizes.size() != sizes.size()) return Follows::kNo;
  const auto old_filled = old_.sizes(old_.operands(old_of(id))[0]);
  const auto filled = now_.sizes(now_.operands(id)[0]);
  const IntView old_low = find_attr(old_, old_of(id), Attr::kLow);
  const IntView low = find_attr(now_, id, Attr::kLow);
  Follows out = Follows::kYes;
  for (std::size_t i = 0; i < now.size(); ++i) {
    // The same in another place: the low amount tells it.
    const bool shifted = old_sizes[i] == sizes[i] && old_filled[i] == filled[i];
    if (before[i] == now[i] || (shifted && attr == Attr::kHigh && low[i] != old_low[i])) continue;
    if (shifted) return Follows::kNo;
    if (old_sizes[i] == sizes[i] || context_.sizes.contains(before[i], now[i])) continue;
    if (std::gcd(old_sizes[i], sizes[i]) <= std::max(before[i], now[i])) return Follows::kNo;
    out = Follows::kPerhaps;
  }
  return out;
}

Follows AttributeRules::judge_scale(IntView before, IntView now) const {
  if (before.empty() || now.empty()) return Follows::kNo;
  const auto x = std::bit_cast<double>(before[0]);
  const auto y = std::bit_cast<double>(now[0]);
  if (context_.sizes.explain_number(x, y, DType::kF32)) return Follows::kYes;
  return context_.sizes.may_explain_number(x, y, DType::kF32) ? Follows::kPerhaps : Follows::kNo;
}

/// Whether a window, or its stride, is as large as the image in both graphs where it changed.
bool AttributeRules::is_whole(ValueId id, IntView before, IntView now) const {
  const auto old_sizes = old_.sizes(old_.operands(old_of(id))[0]);
  const auto sizes = now_.sizes(now_.operands(id)[0]);
  if (before.size() != now.size() || sizes.size() < now.size() || old_sizes.size() != sizes.size())
    return false;
  const std::size_t first = sizes.size() - now.size();  // of the image's dimensions
  for (std::size_t i = 0; i < now.size(); ++i)
    if (before[i] != now[i] && (before[i] != old_sizes[first + i] || now[i] != sizes[first + i]))
      return false;
  return true;
}

}  // namespace lockstep
