// The kinds of spans and levels, with one row of facts for each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace lockstep {

enum class SpanKind : std::uint8_t {
  // The host's thread.
  kInputWait,           ///< waiting for the loader
  kTrace,               ///< recording a graph
  kCut,                 ///< cutting the graph of the live tensors
  kHash,                ///< of that graph
  kLookup,              ///< of the hash, and the comparison with what it finds
  kCompile,             ///< all work for a program not found in memory
  kPass,                ///< one pass over a program
  kKernels,             ///< making a program's kernels
  kArtifactLoad,        ///< a compiled step from disk
  kArtifactWait,        ///< another process compiles the same
  kArtifactSave,        ///< a compiled step to disk
  kQueueWait,           ///< for a place in the device's queue
  kDeviceLockWait,      ///< for a value
  kTransferFromDevice,  ///< a copy of a value; within a host call on the device's thread
  kEvaluation,          ///< all of it
  kSave,                ///< the time that a save takes from the loop
  // The device's thread. Gaps and executions cover its time without holes, and so do the parts of
  // an execution together with the commands, except for the time of clock readings.
  kExposedGap,       ///< idle between executions: for the host, or for inputs
  kCheckpointStall,  ///< the same, if a snapshot lies in it
  kEvaluationGap,    ///< the same before or after an evaluation's execution
  kExecute,          ///< one step, evaluation or read; not one that failed
  kDispatch,         ///< reserving memory, publishing results
  kCommand,          ///< one bundle of a plan
  kGradientProgram,  ///< a call, in virtual time, which knows no commands
  kUpdateProgram,    ///< the same
  kGradientSums,     ///< adding the micro-batches of this rank, starting buckets
  kExposedComm,      ///< waiting for buckets
  kDonationCopies,   ///< copying donated memory that is still read
  kStateCheck,       ///< hashing a part of the state
  kHostCall,         ///< a function on the host, with its copies
  kSnapshot,         ///< copying the state for a checkpoint
  // Elsewhere.
  kTransferToDevice,  ///< a copy
  kAllReduce,         ///< one bucket, from its last gradient to its sum
  kFetch,             ///< the samples of a micro-batch
  kCollate,           ///< their batch
  kLoaderWait,        ///< the feed to the device waiting for the loader
  kCheckpoint,        ///< writing a checkpoint
};
inline constexpr std::size_t kSpanKindCount = static_cast<std::size_t>(SpanKind::kCheckpoint) + 1;

/// The track of a kind's spans in a trace. Spans of one thread nest; those of kCommunication
/// overlap.
enum class SpanTrack : std::uint8_t {
  kHost,
  kDevice,
  kTransfer,
  kCommunication,
  kLoader,
  kCheckpoint
};

using SpanArgs = std::array<std::int64_t, 4>;

struct SpanFacts {
  const char* name = nullptr;    ///< "input wait"
  const char* metric = nullptr;  ///< that it feeds: "InputWait"; null: none
  SpanTrack track = SpanTrack::kHost;
  const char* detail = nullptr;                       ///< what Span::name is; null: unused
  std::array<const char*, SpanArgs().size()> args{};  ///< what Span::args are; null: unused
};
const SpanFacts& facts_of(SpanKind kind);

/// A set of kinds.
class SpanKinds {
 public:
  constexpr SpanKinds() = default;
  constexpr SpanKinds(std::initializer_list<SpanKind> kinds) {
    for (const SpanKind kind : kinds) bits_ |= bit(kind);
  }
  static constexpr SpanKinds all() {
    SpanKinds out;
    out.bits_ = (std::uint64_t{1} << kSpanKindCount) - 1;
    return out;
  }
  constexpr bool contains(SpanKind kind) const { return (bits_ & bit(kind)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr SpanKinds operator|(SpanKinds other) const {
    other.bits_ |= bits_;
    return other;
  }

 private:
  static constexpr std::uint64_t bit(SpanKind kind) {
    return std::uint64_t{1} << static_cast<unsigned>(kind);
  }
  std::uint64_t bits_ = 0;
};
static_assert(kSpanKindCount < 64);

enum class LevelKind : std::uint8_t {
  kDeviceMemory,  ///< bytes in use
  kQueueDepth,    ///< executions that wait in the stream
  kPrefetched,    ///< batches that are copied to the device, or being copied, and not taken yet
};
inline constexpr std::size_t kLevelKindCount = static_cast<std::size_t>(LevelKind::kPrefetched) + 1;
const char* name_of(LevelKind kind);

}  // namespace lockstep
