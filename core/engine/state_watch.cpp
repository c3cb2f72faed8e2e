#include "core/engine/state_watch.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/runtime/communicator.h"
#include "core/runtime/compiled_step.h"

namespace lockstep {
namespace {

constexpr int kAddressesLevel = 2;

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
  using Sample = std::shared_ptr<const StateSample>;
  const auto digest_of = [](const Hash128& digest, std::function<Sample()> get) {
    const auto sample = std::make_shared<Sample>();
    return std::make_shared<CarriedDigest>(
        CarriedDigest{digest,
                      [get = std::move(get), sample] {
                        *sample = get();
                        return (*sample)->details();
                      },
                      [sample](const std::vector<std::string>& all) {
                        return Error(ErrorKind::kPeer, (*sample)->explain(all));
                      }});
  };
  return join(digest_of({}, [watch = shared_from_this()] { return watch->everything_now(); }),
              digest_of(last_->digest(), [last = last_] { return last; }));
}

/// The variables' values, in order; null where one is gone.
std::vector<std::shared_ptr<const DeviceTensor>> StateWatch::updated() const {
  std::vector<std::shared_ptr<const DeviceTensor>> out;
  for (const Update& update : program_->step.updates)
    out.push_back(outputs_.at(static_cast<std::size_t>(update.output)).lock());
  return out;
}

std::vector<StatePiece> StateWatch::pieces_of(
    std::span<const std::shared_ptr<const DeviceTensor>> tensors) const {
  const Graph& step = program_->step;
  std::vector<StatePiece> out;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const DeviceTensor& tensor = *tensors[i];
    const Node& input = step[step.inputs[static_cast<std::size_t>(step.updates[i].input)]];
    out.push_back({input.name, tensor.type.dtype, tensor.type.shape.elements(),
                   tensor.buffers.at(0)->data()});
  }
  return out;
}

// On the communication thread, while the device computes with its pool.
std::shared_ptr<const StateSample> StateWatch::everything_now() const {
  ThreadPool alone(1);
  const auto tensors = updated();
  const bool gone = std::ranges::count(tensors, nullptr) > 0;
  return std::make_shared<StateSample>(gone ? std::vector<StatePiece>{} : pieces_of(tensors),
                                       StateTurn{step_, interval_, last_->turn().last_whole, true},
                                       program_, alone);
}

void StateWatch::sample(bool whole, std::span<const SnapshotPart> parts, ThreadPool& pool) {
  const auto tensors = updated();
  LS_CHECK(std::ranges::count(tensors, nullptr) == 0,
           "a variable of step {} is gone before it was checked", step_);
  std::vector<StatePiece> pieces = pieces_of(tensors);
  std::map<const DeviceTensor*, const SnapshotPart*> to_copy;
  for (const SnapshotPart& part : parts) to_copy.emplace(part.from.get(), &part);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto part = to_copy.find(tensors[i].get());
    if (part == to_copy.end()) continue;
    pieces[i].copy = part->second->to.bytes().data();
    to_copy.erase(part);
  }
  if (log_.debug_level() >= kAddressesLevel) tell_addresses(pieces);
  for (const auto& [tensor, part] : to_copy) copy_snapshot({part, 1}, pool);
  last_ = std::make_shared<StateSample>(pieces, StateTurn{step_, interval_, last_whole_, whole},
                                        program_, pool);
  if (whole) last_whole_ = step_;
}

// For readers of the state from outside: a debugger, or a test that damages it.
void StateWatch::tell_addresses(std::span<const StatePiece> pieces) {
  addresses_.resize(pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const StatePiece& piece = pieces[i];
    if (addresses_[i] == piece.data) continue;
    addresses_[i] = piece.data;
    log_.debug(kAddressesLevel, "state: {} has {} {} at {}", piece.name, piece.elements,
               name_of(piece.dtype), fmt::ptr(piece.data));
  }
}

void compare_samples(Communicator& communicator, const StateSample& sample) {
  if (communicator.agree("state", sample.digest())) return;
  raise(ErrorKind::kPeer, "{}", sample.explain(communicator.exchange("states", sample.details())));
}

}  // namespace lockstep
