#include "core/runtime/host_call.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "core/runtime/counted_copy.h"

namespace lockstep {

void HostCallTimes::add(const Node& host_call, std::int64_t ns) {
  std::string what =
      fmt::format("{} {}", host_call.attrs.text(Attr::kFunction), host_call.origin.to_string());
  const std::lock_guard lock(mutex_);
  Times& times = times_[what];
  times.what = std::move(what);
  times.calls += 1;
  times.ns += ns;
}

std::optional<HostCallTimes::Times> HostCallTimes::take_longest() {
  const std::lock_guard lock(mutex_);
  std::optional<Times> out;
  for (const auto& [what, times] : std::exchange(times_, {}))
    if (!out || times.ns > out->ns) out = times;
  return out;
}

void run_host_call(const HostFunction& function, const Node& node, std::span<const Type> operands,
                   const KernelCall& memory, const HostCallContext& context) {
  SpanStream& spans = context.spans;
  const std::int64_t begin = spans.clock().now_ns();
  spans.metrics().count("HostCall");
  std::vector<HostTensor> in;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const ScopedSpan span(spans, SpanCategory::kTransferFromDevice, context.step);
    in.emplace_back(operands[i].dtype, operands[i].shape);
    copy_from_device_memory(in.back(), memory.operands[i], spans.metrics());
  }
  const std::vector<HostTensor> out = [&] {
    const ForeignCall call(context.activity, "host_call " + function.name());
    return function.call(node, in);
  }();
  for (std::size_t k = 0; k < out.size(); ++k) {
    const ScopedSpan span(spans, SpanCategory::kTransferToDevice, context.step);
    copy_to_device_memory(memory.results[k], out[k], spans.metrics());
  }
  const std::int64_t end = spans.clock().now_ns();
  spans.record(SpanCategory::kHostCall, begin, end, context.step);
  if (context.times != nullptr) context.times->add(node, end - begin);
}

}  // namespace lockstep
