#include "core/engine/state_watch.h"

#include "core/base/error.h"

namespace lockstep {

void StateWatch::look(const std::shared_ptr<const CompiledStep>& program,
                      std::span<const DeviceTensorPtr> outputs, const Turn& turn,
                      ThreadPool& pool) {
  program_ = program;
  outputs_.assign(outputs.begin(), outputs.end());
  step_ = turn.step;
  sample(turn, pool);
}

void StateWatch::look_at_everything(ThreadPool& pool) {
  if (program_ != nullptr) sample({step_, true}, pool);
}

std::shared_ptr<const StateDigest> StateWatch::to_compare() const {
  if (last_ == nullptr) return nullptr;
  return std::make_shared<StateDigest>(StateDigest{
      last_->digest(), [sample = last_] { return sample->details(); },
      [sample = last_](const std::vector<std::string>& all) { return sample->explain(all); }});
}

void StateWatch::sample(const Turn& turn, ThreadPool& pool) {
  const Graph& step = program_->step;
  std::vector<StatePiece> pieces;
  std::vector<std::shared_ptr<const DeviceTensor>> held;
  for (const Update& update : step.updates) {
    const auto tensor = outputs_.at(static_cast<std::size_t>(update.output)).lock();
    LS_CHECK(tensor != nullptr, "a variable of step {} is gone before it was checked", turn.step);
    const Node& input = step[step.inputs[static_cast<std::size_t>(update.input)]];
    pieces.push_back({input.name, tensor->type.dtype, tensor->type.shape.elements(),
                      tensor->shards.at(0)->data()});
    held.push_back(tensor);
  }
  last_ = std::make_shared<StateSample>(
      pieces, StateTurn{turn.step, interval_, last_whole_, turn.whole}, program_, pool);
  if (turn.whole) last_whole_ = turn.step;
}

void compare_samples(Communicator& communicator, const StateSample& sample) {
  if (communicator.agree("state", sample.digest())) return;
  raise(ErrorKind::kPeer, "{}", sample.explain(communicator.exchange("states", sample.details())));
}

}  // namespace lockstep
