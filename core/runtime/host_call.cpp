#include "core/runtime/host_call.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "core/runtime/counted_copy.h"

namespace lockstep {

void run_host_call(const HostFunction& function, const Node& node, std::span<const Type> operands,
                   const KernelCall& memory, const HostCallContext& context) {
  SpanStream& spans = context.spans;
  const std::string what =
      spans.is_heard(SpanKind::kHostCall)
          ? fmt::format("{} {}", node.attrs.text(Attr::kFunction), node.origin.to_string())
          : "";
  const ScopedSpan whole(spans, {.kind = SpanKind::kHostCall, .step = context.step, .name = what});
  spans.metrics().count("HostCall");
  std::vector<HostTensor> in;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    in.emplace_back(operands[i].dtype, operands[i].shape);
    const ScopedSpan span(spans, {.kind = SpanKind::kTransferFromDevice,
                                  .step = context.step,
                                  .args = {static_cast<std::int64_t>(in.back().bytes().size())}});
    copy_from_device_memory(in.back(), memory.operands[i], spans.metrics());
  }
  const std::vector<HostTensor> out = [&] {
    const ForeignCall call(context.activity, "host_call " + function.name());
    return function.call(node, in);
  }();
  for (std::size_t k = 0; k < out.size(); ++k) {
    const ScopedSpan span(spans, {.kind = SpanKind::kTransferToDevice,
                                  .step = context.step,
                                  .name = "host call",
                                  .args = {static_cast<std::int64_t>(out[k].bytes().size())}});
    copy_to_device_memory(memory.results[k], out[k], spans.metrics());
  }
}

}  // namespace lockstep
