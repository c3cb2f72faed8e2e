// Virtual time of a rank in a real run: what its step would take on the device that it stands for.
// The host's thread notes what the host does; the notes travel with the commands that it hands
// over, and the device's thread, which runs the commands in order, finds out by the event rule when
// they begin and end. So no thread waits for another one because of virtual time.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "core/virtual_time/disturbances.h"
#include "core/virtual_time/event_rule.h"
#include "core/virtual_time/host_costs.h"
#include "core/virtual_time/virtual_spans.h"

namespace lockstep {

struct VirtualClockOptions {
  StreamOptions stream = {};
  HostCosts host = {};
  double host_link_bytes_per_s = 0;  ///< each direction; 0: copies take no time
  double peak_flops = 0;             ///< FLOP/s of the device in the run's type; 0: unknown
  bool keeps_steps = true;           ///< for take_steps()
  int rank = 0;
  Disturbances disturbances = {};
};

/// A training step in virtual time.
struct VirtualStep {
  std::int64_t step = 0;
  StepTimes times;
  CommandBegin begin;
  double ideal_ns = 0;  ///< its dots, convolutions and attention at the peak; 0: unknown

  /// Without other commands since the step before it: evaluations, saves.
  std::int64_t ns() const { return begin.idle_ns + times.end_ns - times.begin_ns; }
};

/// Sums over training steps but the first one, which waits for its compilation and its batch.
struct VirtualTotals {
  std::int64_t steps = 0;
  std::int64_t all_ns = 0;  ///< VirtualStep::ns; the sum of what follows
  std::int64_t gradient_ns = 0;
  std::int64_t exposed_comm_ns = 0;
  std::int64_t update_ns = 0;
  std::int64_t exposed_gap_ns = 0;  ///< waiting for the host
  std::int64_t input_wait_ns = 0;

  void add(const VirtualStep& step);
};

/// An execution on the device's thread, from its begin to its end.
struct VirtualExecution {
  const StepDurations* durations = nullptr;
  StepDurations disturbed;  ///< these, if something disturbs them
  std::int64_t step = -1;   ///< of a training step, else -1
  std::int64_t micro_batches = 1;
  std::string_view name = {};  ///< why the host handed it over: "step end"
  CommandBegin begin;
  std::vector<std::int64_t> ready_ns;   ///< when each bucket is complete on this rank ...
  std::vector<std::int64_t> latest_ns;  ///< ... and on the last one: set when it is all-reduced
};

/// Of the state to the host, for a save.
struct VirtualCopy {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

class VirtualClock {
 public:
  explicit VirtualClock(const VirtualClockOptions& options);
  VirtualClock(const VirtualClock&) = delete;
  VirtualClock& operator=(const VirtualClock&) = delete;

  const VirtualClockOptions& options() const { return options_; }

  // On the host's thread:

  /// Takes the batch of a step from the feed to the device: so many samples and bytes, which cost
  /// workers so much CPU time.
  void take_batch(std::int64_t samples, std::int64_t bytes, std::int64_t cpu_ns);
  /// A program was compiled, or loaded.
  void compiled();
  /// Read a value of so many bytes that exists from then on.
  void read(std::int64_t exists_ns, std::int64_t bytes);
  /// All since the last call, for the command that is handed over now; a training step or not.
  std::vector<HostEvent> hand_over(bool is_step);
  /// What `work` does is not work of the host that is simulated: it takes no virtual time, and no
  /// value that it reads is waited for.
  void outside(const std::function<void()>& work);

  /// Before any command: when the clock began, in the time of the job, for what it tells.
  void set_origin(std::int64_t ns) { origin_ns_ = ns; }
  /// From now on tells the listener, or nobody (null), what happens in virtual time. It must
  /// outlive the commands that are under way.
  void listen(SpanListener* listener) { listener_.store(listener); }

  // On the device's thread, in the order of the commands:

  /// Fills in begin and ready_ns; the rest is given.
  void begin(std::span<const HostEvent> events, VirtualExecution& execution);
  /// Returns when its results exist.
  std::int64_t end(const VirtualExecution& execution);
  /// A copy of so many bytes from the device to the host.
  void copy(std::span<const HostEvent> events, std::int64_t bytes);

  /// The training steps up to this one that have ended since the last call, in order. From any
  /// thread.
  std::vector<VirtualStep> take_steps(std::int64_t last);
  /// Of all steps that have ended. From any thread.
  VirtualTotals totals() const;
  /// When the last command ended, and when the last copy was made. From any thread.
  std::int64_t end_of_last_ns() const;
  VirtualCopy last_copy() const;
  /// What it takes to write a save that took so many seconds here.
  std::int64_t save_ns(double seconds) const;

 private:
  std::int64_t copy_ns(std::int64_t bytes) const;
  void add_work(std::int64_t ns, SpanKind what);
  /// Adds the CPU time of this thread since the last call.
  void add_measured(SpanKind what = SpanKind::kTrace);
  VirtualSpans spans_of(std::int64_t step) const { return {listener_.load(), step, origin_ns_}; }

  const VirtualClockOptions options_;
  // Of the host's thread:
  std::vector<HostEvent> events_;
  std::int64_t cpu_ns_ = -1;  ///< of the thread, up to which it is noted; -1: not begun
  bool outside_ = false;
  // Of the device's thread:
  VirtualStream stream_;
  JobLink link_;

  std::atomic<std::int64_t> origin_ns_{0};
  std::atomic<SpanListener*> listener_{nullptr};
  mutable std::mutex mutex_;
  bool had_first_step_ = false;
  VirtualTotals totals_;
  std::deque<VirtualStep> steps_;
  std::int64_t last_end_ns_ = 0;
  VirtualCopy last_copy_;
};

}  // namespace lockstep
