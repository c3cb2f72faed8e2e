#include "core/ir/signature.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/ir/type_list.h"

namespace lockstep {
namespace {

/// The error in the words of one attribute; empty if there is none.
std::string check_values(Attr attr, IntView values) {
  const auto is_byte = [](std::int64_t word) { return word >= 0 && word <= 0xff; };
  switch (type_of(attr)) {
    case AttrType::kInts: return "";
    case AttrType::kText:
      if (values.empty() || !std::ranges::all_of(values, is_byte))
        return fmt::format("the attribute '{}' is not a text", name_of(attr));
      return "";
    case AttrType::kTypes:
      if (!is_type_list(values) || values.empty())
        return fmt::format("the attribute '{}' is not a list of types", name_of(attr));
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
  const OpInfo& info = info_of(op);
  for (int i = 0; i < kAttrCount; ++i)
    if (const auto attr = static_cast<Attr>(i); info.required.has(attr) && !attrs.has(attr))
      return fmt::format("{} needs the attribute '{}'", name_of(op), name_of(attr));
  for (const Attrs::Entry& entry : attrs.entries()) {
    if (!info.required.has(entry.attr) && !info.optional.has(entry.attr))
      return fmt::format("{} takes no attribute '{}'", name_of(op), name_of(entry.attr));
    if (std::string wrong = check_values(entry.attr, entry.values); !wrong.empty()) return wrong;
  }
  if (attrs.has(Attr::kDropout) && attrs.real(Attr::kDropout) > 0 && !attrs.has(Attr::kStream))
    return fmt::format("{} with dropout needs the attribute 'stream'", name_of(op));
  return "";
}

}  // namespace lockstep
