#include "core/base/span_kinds.h"

namespace lockstep {
namespace {

using enum SpanTrack;

constexpr SpanFacts facts(SpanKind kind) {
  switch (kind) {
    case SpanKind::kInputWait: return {"input wait", "InputWait", kHost};
    case SpanKind::kTrace: return {"trace", "TraceTime", kHost};
    case SpanKind::kCut: return {"cut", nullptr, kHost, nullptr, {"nodes", "outputs"}};
    case SpanKind::kHash: return {"hash", nullptr, kHost};
    case SpanKind::kLookup: return {"lookup", nullptr, kHost, nullptr, {"hit"}};
    case SpanKind::kCompile: return {"compile", "CompileTime", kHost};
    case SpanKind::kPass: return {"pass", nullptr, kHost, "pass", {"nodes"}};
    case SpanKind::kKernels: return {"kernels", nullptr, kHost};
    case SpanKind::kArtifactLoad:
      return {"artifact load", "ArtifactLoadTime", kHost, nullptr, {"bytes"}};
    case SpanKind::kArtifactWait: return {"artifact wait", "ArtifactWaitTime", kHost};
    case SpanKind::kArtifactSave: return {"artifact save", "ArtifactSaveTime", kHost};
    case SpanKind::kQueueWait: return {"queue wait", "QueueWait", kHost};
    case SpanKind::kDeviceLockWait: return {"value wait", "DeviceLockWait", kHost, "value"};
    case SpanKind::kTransferFromDevice:
      return {"transfer from device", "TransferFromDeviceTime", kHost, nullptr, {"bytes"}};
    case SpanKind::kEvaluation: return {"evaluation", "EvaluationTime", kHost};
    case SpanKind::kSave: return {"save", "SaveTime", kHost};
    case SpanKind::kExposedGap: return {"idle", "ExposedGap", kDevice, nullptr, {"inputs_ns"}};
    case SpanKind::kCheckpointStall:
      return {"checkpoint", "CheckpointStall", kDevice, nullptr, {"inputs_ns"}};
    case SpanKind::kEvaluationGap:
      return {"evaluation", "EvaluationGap", kDevice, nullptr, {"inputs_ns"}};
    case SpanKind::kExecute:
      return {"execute", "ExecuteTime", kDevice, "reason", {"program", "reason", "shards"}};
    case SpanKind::kDispatch: return {"dispatch", nullptr, kDevice};
    case SpanKind::kCommand:
      return {"command", nullptr, kDevice, nullptr, {"program", "is_update", "command", "shard"}};
    case SpanKind::kGradientProgram:
      return {"gradient program", nullptr, kDevice, nullptr, {"micro_batch"}};
    case SpanKind::kUpdateProgram: return {"update program", nullptr, kDevice};
    case SpanKind::kGradientSums: return {"gradient sums", nullptr, kDevice, nullptr, {"bucket"}};
    case SpanKind::kExposedComm: return {"all-reduce", "ExposedComm", kDevice};
    case SpanKind::kDonationCopies: return {"copies", nullptr, kDevice, nullptr, {"bytes"}};
    case SpanKind::kStateCheck: return {"state check", nullptr, kDevice};
    case SpanKind::kHostCall: return {"host call", "HostCallTime", kDevice, "function"};
    case SpanKind::kSnapshot: return {"snapshot", nullptr, kDevice, nullptr, {"bytes"}};
    case SpanKind::kTransferToDevice:
      return {"transfer to device", "TransferToDeviceTime", kTransfer, "value", {"bytes"}};
    case SpanKind::kAllReduce:
      return {"all_reduce", "AllReduceTime", kCommunication, nullptr, {"bucket", "bytes"}};
    case SpanKind::kFetch: return {"fetch", nullptr, kLoader, nullptr, {"samples"}};
    case SpanKind::kCollate: return {"collate", nullptr, kLoader, nullptr, {"samples"}};
    case SpanKind::kLoaderWait: return {"loader wait", nullptr, kLoader};
    case SpanKind::kCheckpoint:
      return {"checkpoint write", "CheckpointTime", SpanTrack::kCheckpoint};
  }
  __builtin_unreachable();
}

}  // namespace

const SpanFacts& facts_of(SpanKind kind) {
  static constexpr auto kFacts = [] {
    std::array<SpanFacts, kSpanKindCount> out{};
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = facts(static_cast<SpanKind>(i));
    return out;
  }();
  return kFacts[static_cast<std::size_t>(kind)];
}

const char* name_of(LevelKind kind) {
  switch (kind) {
    case LevelKind::kDeviceMemory: return "device memory";
    case LevelKind::kQueueDepth: return "queue depth";
    case LevelKind::kPrefetched: return "prefetched batches";
  }
  __builtin_unreachable();
}

}  // namespace lockstep
