#include "trainer/train/steps_in_flight.h"

namespace lockstep {

bool StepsInFlight::is_full() const {
  return steps_.size() > static_cast<std::size_t>(runtime_.config().device.queue_depth);
}

QueuedStep StepsInFlight::take() {
  QueuedStep oldest = std::move(steps_.front());
  steps_.pop_front();
  runtime_.activity().begin(Phase::kRead, oldest.step);
  oldest.outcome->read();
  return oldest;
}

void StepsInFlight::drop() {
  steps_.clear();
  runtime_.engine().wait();
}

}  // namespace lockstep
