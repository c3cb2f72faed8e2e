#include "trainer/timeline/step_trace.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "core/engine/engine.h"
#include "core/virtual_time/virtual_clock.h"
#include "trainer/timeline/encode_timeline.h"

namespace lockstep {

StepTrace::StepTrace(const StepWindow& steps, Engine& engine, SpanStream& spans,
                     VirtualClock* virtual_clock, Communicator& communicator, Log& log)
    : steps_(steps),
      engine_(engine),
      spans_(spans),
      virtual_clock_(virtual_clock),
      communicator_(communicator),
      log_(log),
      recorder_(spans, engine.programs(), steps) {}

StepTrace::~StepTrace() {
  stop_recording();
  if (state_ != State::kRecording) return;
  try {
    clock_end_ = clock_begin_;
    save(encode(), "this rank alone, as the run failed");
  } catch (...) {  // NOLINT(bugprone-empty-catch): the run's own error is the one to report
  }
}

void StepTrace::begin_step(std::int64_t step, const std::string& run_folder) {
  run_folder_ = run_folder;
  step_ = step;
  if (state_ == State::kRecording && step > steps_.last) write();
  if (state_ == State::kBefore && step >= steps_.first) start(step);
}

void StepTrace::start(std::int64_t step) {
  if (step > steps_.last) {
    log_.warn("profile.trace.steps: the run resumes at step {}, after [{}, {}]: there is no trace",
              step, steps_.first, steps_.last);
    state_ = State::kDone;
    return;
  }
  if (run_folder_.empty() && communicator_.is_master_ordinal())
    log_.warn("profile.trace.steps: a run without a folder writes no trace");
  if (communicator_.topology().nodes() > 1) engine_.wait();  // its collectives come first
  clock_begin_ = compare();
  if (virtual_clock_ != nullptr)
    virtual_clock_->listen(&recorder_);
  else
    recorder_.start();
  state_ = State::kRecording;
}

void StepTrace::stop_recording() {
  if (virtual_clock_ != nullptr) virtual_clock_->listen(nullptr);
  recorder_.stop();
}

/// All ranks have one virtual time.
ClockOffset StepTrace::compare() {
  return virtual_clock_ != nullptr ? ClockOffset{} : compare_clocks(communicator_, spans_.clock());
}

void StepTrace::finish() {
  if (state_ == State::kRecording) return write();
  if (state_ == State::kBefore && step_ >= 0)
    log_.warn(
        "profile.trace.steps: the run ended after step {}, before [{}, {}]: there is no trace",
        step_, steps_.first, steps_.last);
}

void StepTrace::write() {
  engine_.wait();
  stop_recording();
  clock_end_ = compare();
  state_ = State::kDone;
  std::string all;
  for (const std::string& bytes : communicator_.exchange("trace", encode())) all += bytes;
  save(all, fmt::format("{} rank{}", communicator_.size(), communicator_.size() == 1 ? "" : "s"));
}

std::string StepTrace::encode() {
  const RecordedSpans recorded = recorder_.take();
  if (recorded.dropped > 0)
    log_.warn(
        "profile.trace.steps: {} events beyond the limit of {} were left out; trace fewer steps",
        recorded.dropped, SpanRecorder::kMaxEvents);
  const int rank = communicator_.rank();
  return encode_timeline({.rank = rank,
                          .host = communicator_.topology().host_of(rank),
                          .recorded = recorded,
                          .clock = {clock_begin_, clock_end_}});
}

void StepTrace::save(const std::string& bytes, const std::string& what) {
  if (run_folder_.empty() || !communicator_.is_master_ordinal()) return;
  const std::string path = run_folder_ + "/trace.perfetto-trace";
  try {
    write_file(path, bytes, ErrorKind::kUsage);
  } catch (const Error& e) {
    log_.warn("the trace could not be written: {}", e.what());
    return;
  }
  log_.info("trace of steps {} to {}{}: {} ({}, {:.1f} MB); open it in ui.perfetto.dev",
            steps_.first, std::min(step_, steps_.last),
            virtual_clock_ != nullptr ? " in virtual time" : "", path, what,
            static_cast<double>(bytes.size()) * 1e-6);
}

}  // namespace lockstep
