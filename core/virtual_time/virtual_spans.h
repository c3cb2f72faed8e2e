// What happens in virtual time, told as spans (core/base/spans.h) with virtual times: a trace shows
// them as it shows those of real time.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/spans.h"

namespace lockstep {

struct StepTimes;
struct VirtualExecution;

/// A rank's threads in virtual time, as Span::thread.
enum class VirtualThread : std::uint8_t {
  kHost = 1,
  kDevice,
  kTransfer,
  kLink,
  kFirstWorker,  ///< of the loader; the others follow
};

/// Tells a listener what happens in a step.
class VirtualSpans {
 public:
  VirtualSpans() = default;
  /// `listener`: null: nobody listens. Times count from `origin_ns` on.
  VirtualSpans(SpanListener* listener, std::int64_t step, std::int64_t origin_ns)
      : listener_(listener), step_(step), origin_ns_(origin_ns) {}

  bool are_heard() const { return listener_ != nullptr; }
  /// Nothing, if it takes no time. `place`: of a worker among the loader's.
  void tell(SpanKind kind, VirtualThread thread, std::int64_t begin_ns, std::int64_t end_ns,
            const SpanArgs& args = {}, std::string_view name = {}, std::size_t place = 0) const;

 private:
  SpanListener* listener_ = nullptr;
  std::int64_t step_ = -1;
  std::int64_t origin_ns_ = 0;
};

/// Tells the parts of an execution on the device and of its all-reduces, which end at
/// `reduced_ns`.
void tell_execution(const VirtualSpans& spans, const VirtualExecution& execution,
                    const StepTimes& times, std::span<const std::int64_t> reduced_ns);

}  // namespace lockstep
