#include "core/engine/state_watch.h"

#include <map>

#include "core/base/error.h"

namespace lockstep {
namespace {

constexpr int kPlacesLevel = 2;

}  // namespace

void StateWatch::look(const std::shared_ptr<const CompiledStep>& program,
                      std::span<const DeviceTensorPtr> outputs, std::int64_t step,
                      ThreadPool& pool) {
  program_ = program;
  outputs_.assign(outputs.begin(), outputs.end());
  step_ = step;
  sample(false, {}, pool);
}

void StateWatch::look_at_everything(std::span<const SnapshotPart> parts, ThreadPool& pool) {
  if (program_ == nullptr) {
    copy_snapshot(parts, pool);
  } else {
    sample(true, parts, pool);
  }
}

CarriedDigestPtr StateWatch::to_compare() const {
  if (last_ == nullptr) return nullptr;
  return std::make_shared<CarriedDigest>(
      CarriedDigest{last_->digest(), [sample = last_] { return sample->details(); },
                    [sample = last_](const std::vector<std::string>& all) {
                      return Error(ErrorKind::kPeer, sample->explain(all));
                    }});
}

void StateWatch::sample(bool whole, std::span<const SnapshotPart> parts, ThreadPool& pool) {
  const Graph& step = program_->step;
  std::vector<StatePiece> pieces;
  std::vector<std::shared_ptr<const DeviceTensor>> held;
  std::map<const DeviceTensor*, const SnapshotPart*> to_copy;
  for (const SnapshotPart& part : parts) to_copy.emplace(part.from.get(), &part);
  for (const Update& update : step.updates) {
    const auto tensor = outputs_.at(static_cast<std::size_t>(update.output)).lock();
    LS_CHECK(tensor != nullptr, "a variable of step {} is gone before it was checked", step_);
    const Node& input = step[step.inputs[static_cast<std::size_t>(update.input)]];
    pieces.push_back({input.name, tensor->type.dtype, tensor->type.shape.elements(),
                      tensor->shards.at(0)->data()});
    if (const auto part = to_copy.find(tensor.get()); part != to_copy.end()) {
      pieces.back().copy = part->second->to.bytes().data();
      to_copy.erase(part);
    }
    held.push_back(tensor);
  }
  if (log_.debug_level() >= kPlacesLevel) tell_places(pieces);
  for (const auto& [tensor, part] : to_copy) copy_snapshot({part, 1}, pool);
  last_ = std::make_shared<StateSample>(pieces, StateTurn{step_, interval_, last_whole_, whole},
                                        program_, pool);
  if (whole) last_whole_ = step_;
}

// For who looks at the state from outside: a debugger, or a test that damages it.
void StateWatch::tell_places(std::span<const StatePiece> pieces) {
  places_.resize(pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const StatePiece& piece = pieces[i];
    if (places_[i] == piece.data) continue;
    places_[i] = piece.data;
    log_.debug(kPlacesLevel, "state: {} has {} {} at {}", piece.name, piece.elements,
               name_of(piece.dtype), fmt::ptr(piece.data));
  }
}

void compare_samples(Communicator& communicator, const StateSample& sample) {
  if (communicator.agree("state", sample.digest())) return;
  raise(ErrorKind::kPeer, "{}", sample.explain(communicator.exchange("states", sample.details())));
}

}  // namespace lockstep
