#include "core/base/spans.h"

#include <functional>
#include <thread>

namespace lockstep {

const char* metric_name(SpanCategory category) {
  switch (category) {
    case SpanCategory::kTrace: return "TraceTime";
    case SpanCategory::kCompile: return "CompileTime";
    case SpanCategory::kArtifactLoad: return "ArtifactLoadTime";
    case SpanCategory::kArtifactWait: return "ArtifactWaitTime";
    case SpanCategory::kArtifactSave: return "ArtifactSaveTime";
    case SpanCategory::kExecute: return "ExecuteTime";
    case SpanCategory::kTransferToDevice: return "TransferToDeviceTime";
    case SpanCategory::kTransferFromDevice: return "TransferFromDeviceTime";
    case SpanCategory::kHostCall: return "HostCallTime";
    case SpanCategory::kAllReduce: return "AllReduceTime";
    case SpanCategory::kInputWait: return "InputWait";
    case SpanCategory::kQueueWait: return "QueueWait";
    case SpanCategory::kDeviceLockWait: return "DeviceLockWait";
    case SpanCategory::kExposedComm: return "ExposedComm";
    case SpanCategory::kExposedGap: return "ExposedGap";
    case SpanCategory::kCheckpoint: return "CheckpointTime";
  }
  __builtin_unreachable();
}

void SpanStream::record(SpanCategory category, std::int64_t begin_ns, std::int64_t end_ns,
                        std::int64_t step, std::uint64_t correlation) {
  metrics_.sample(metric_name(category), static_cast<double>(end_ns - begin_ns));
  if (listeners_.empty()) return;
  const Span span{category, begin_ns,    end_ns,
                  step,     correlation, std::hash<std::thread::id>{}(std::this_thread::get_id())};
  for (const auto& listener : listeners_) listener(span);
}

}  // namespace lockstep
