// The discrete-event rule: when the parts of a run begin and end on the devices that its ranks
// stand for.
//
//   A command begins when the one before it in its stream has ended, the host has handed it over,
//   and its inputs are on the device.
//   A bucket is complete when the last micro-batch has come to its last gradient. Its all-reduce
//   begins at the latest of: the bucket is complete on the last rank; the all-reduce before it has
//   ended. What of it lies beside commands of the gradient program delays them (interference).
//   The update begins when the gradient program and the last all-reduce have ended.
//   The host runs ahead: it hands over a command once fewer than `queue_depth` wait in the stream.
//   A value that it reads sets its time to when the value exists.
//   A worker of the loader fetches a batch when it is free and the loader's queue has room; a batch
//   is copied to the device when it is fetched, those before it are copied, and room for it is
//   free; the host waits until the copy of its batch has begun.
//
// All ranks call the same functions in a real run (where the time of the last rank comes with the
// header of a collective), in a simulation of many ranks, and in a prediction of one step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "core/base/spans.h"
#include "core/virtual_time/step_durations.h"
#include "core/virtual_time/virtual_spans.h"

namespace lockstep {

/// When a step's parts begin and end, in nanoseconds since the begin of the run.
struct StepTimes {
  std::int64_t begin_ns = 0;
  std::int64_t computed_ns = 0;  ///< the last micro-batch's call has ended
  std::int64_t reduced_ns = 0;   ///< the update begins
  std::int64_t end_ns = 0;
  std::int64_t all_reduce_ns = 0;  ///< of all buckets, hidden or not
  std::int64_t hidden_ns = 0;      ///< of it, beside commands of the gradient program

  std::int64_t exposed_ns() const { return reduced_ns - computed_ns; }
};

/// The links of a job: one all-reduce at a time, in the order of the buckets. All ranks have the
/// same.
class JobLink {
 public:
  /// The last rank's part is complete at `ready_ns`. Returns when the all-reduce has ended.
  std::int64_t carry(std::int64_t ready_ns, std::int64_t all_reduce_ns);

 private:
  std::int64_t free_ns_ = 0;
};

/// When each bucket of a step that begins then is complete on this rank.
std::vector<std::int64_t> bucket_times(const StepDurations& step, std::int64_t micro_batches,
                                       std::int64_t begin_ns);

/// When the all-reduce of each bucket ends. `latest_ns`: when it is complete on the last rank.
std::vector<std::int64_t> all_reduce_ends(const StepDurations& step,
                                          std::span<const std::int64_t> latest_ns, JobLink& link);

/// The rest of the step. `reduced_ns`: when the all-reduce of each bucket ends.
StepTimes step_times(const StepDurations& step, std::int64_t micro_batches, std::int64_t begin_ns,
                     std::span<const std::int64_t> reduced_ns);

/// A step of devices that are all alike, whose host and inputs are never late.
StepTimes steady_step(const StepDurations& step, std::int64_t micro_batches);

/// What the host does between two commands that it hands over.
struct HostEvent {
  enum class Kind : std::uint8_t {
    kWork,       ///< takes `ns`
    kWaitUntil,  ///< a value, which exists from `ns` on
    kTakeBatch,  ///< takes the next batch: `ns` a worker fetches it, `copy_ns` it is copied
  };
  Kind kind = Kind::kWork;
  std::int64_t ns = 0;
  std::int64_t copy_ns = 0;
  SpanKind what = SpanKind::kTrace;  ///< of kWork
  // Of kTakeBatch, for traces:
  std::int64_t samples = 0;
  std::int64_t bytes = 0;
};

struct StreamOptions {
  int queue_depth = 2;               ///< device.queue_depth
  int loader_workers = 1;            ///< data.loader_workers
  std::int64_t prefetch = 8;         ///< data.loader_prefetch_size, in steps
  std::int64_t device_prefetch = 2;  ///< data.device_prefetch_size, in steps
};

/// When a command begins, and why not earlier.
struct CommandBegin {
  std::int64_t begin_ns = 0;
  std::int64_t idle_ns = 0;    ///< since the command before it; of that ...
  std::int64_t inputs_ns = 0;  ///< ... it waited so long for its batch, or the host did
};

/// The host, the loader and the stream of one rank.
class VirtualStream {
 public:
  explicit VirtualStream(const StreamOptions& options);

  /// The host has done all this, and hands over the next command. Tells `spans` what the host, the
  /// loader and the stream did.
  CommandBegin begin(std::span<const HostEvent> events, const VirtualSpans& spans = {});
  /// The command that began last has ended.
  void end(std::int64_t end_ns) { free_ns_ = end_ns; }

 private:
  void take_batch(const HostEvent& batch, const VirtualSpans& spans);
  void move_host(std::int64_t to_ns, SpanKind what, const VirtualSpans& spans);

  StreamOptions options_;
  std::int64_t host_ns_ = 0;
  std::int64_t waited_ns_ = 0;            ///< the host, for the batch of the next command
  std::int64_t free_ns_ = 0;              ///< the stream
  std::deque<std::int64_t> taken_;        ///< from the queue, the last `queue_depth` commands
  std::vector<std::int64_t> workers_ns_;  ///< each is free from then on
  std::deque<std::int64_t> copies_ns_;    ///< begin of the last `prefetch` copies
  std::deque<std::int64_t> batches_ns_;   ///< the host took the last `device_prefetch` batches
  std::int64_t fetched_ns_ = 0;           ///< all batches up to the last one
  std::int64_t copied_ns_ = 0;            ///< the same; the link from the host is free
};

}  // namespace lockstep
