// profile.trace: the trace of some steps of all ranks in one file, <run>/trace.perfetto-trace.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/log.h"
#include "core/runtime/communicator.h"
#include "trainer/timeline/node_clocks.h"
#include "trainer/timeline/span_recorder.h"

namespace lockstep {

class Engine;
class VirtualClock;

class StepTrace {
 public:
  /// Of virtual time, if there is a `virtual_clock`. All references must outlive it but the engine,
  /// which it uses in begin_step() and finish().
  StepTrace(const StepWindow& steps, Engine& engine, SpanStream& spans, VirtualClock* virtual_clock,
            Communicator& communicator, Log& log);
  /// If the recording was not written yet, the master writes its own; that of other ranks is lost.
  ~StepTrace();
  StepTrace(const StepTrace&) = delete;
  StepTrace& operator=(const StepTrace&) = delete;

  /// Called on all ranks before each step: starts recording at the first step of the window. After
  /// its last step it waits for the device, and the master writes the file. `run_folder`: of the
  /// master; "" if the run has none.
  void begin_step(std::int64_t step, const std::string& run_folder);

  /// Called on all ranks when all steps have run: writes what was recorded so far.
  void finish();

 private:
  enum class State : std::uint8_t { kBefore, kRecording, kDone };
  void start(std::int64_t step);
  void stop_recording();
  ClockOffset compare();
  void write();
  std::string encode();
  void save(const std::string& bytes, const std::string& what);

  StepWindow steps_;
  Engine& engine_;
  SpanStream& spans_;
  VirtualClock* virtual_clock_;
  Communicator& communicator_;
  Log& log_;
  SpanRecorder recorder_;
  State state_ = State::kBefore;
  std::int64_t step_ = -1;  ///< the last one that began; -1: none
  std::string run_folder_;
  ClockOffset clock_begin_;
  ClockOffset clock_end_;
};

}  // namespace lockstep
