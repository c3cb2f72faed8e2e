// A value on a device that exists or is being computed. Who needs it waits for `ready`; a failed
// step marks it failed with the original error (a poisoned placeholder).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/event.h"
#include "core/ir/graph.h"

namespace lockstep {

struct DeviceTensor {
  explicit DeviceTensor(Type type_, std::string label_ = {})
      : type(type_), label(std::move(label_)) {}

  Type type;
  std::string label;  ///< "wte.weight model.cpp:41", for messages
  EventPtr ready = std::make_shared<Event>();
  /// Written before `ready` is marked: one buffer, or one per logical shard of this rank.
  std::vector<BufferPtr> shards;
};
using DeviceTensorPtr = std::shared_ptr<DeviceTensor>;

}  // namespace lockstep
