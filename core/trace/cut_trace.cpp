#include "core/trace/cut_trace.h"

#include <array>

#include "core/base/error.h"

namespace lockstep {

std::string_view name_of(SyncReason reason) {
  constexpr std::array<std::string_view, 5> kNames = {"mark_step", "step end", "value read",
                                                      "evaluation", "checkpoint"};
  return kNames[static_cast<std::size_t>(reason)];
}

Origin origin_of(const std::source_location& where) {
  std::string_view file = where.file_name();
  if (const auto slash = file.rfind('/'); slash != std::string_view::npos)
    file.remove_prefix(slash + 1);
  return {file, where.line(), {}};
}

void CutTrace::bind(std::span<const TensorValuePtr> values) const {
  LS_CHECK(values.size() == outputs.size(), "{} values for {} outputs", values.size(),
           outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i]->value = values[i];
}

}  // namespace lockstep
