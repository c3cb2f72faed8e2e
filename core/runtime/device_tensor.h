// A value on a device that exists or is being computed. Who needs it waits for `ready`; a failed
// step marks it failed with the original error (a poisoned placeholder).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/event.h"
#include "core/ir/graph.h"

namespace lockstep {

/// What a value is called in messages: "wte.weight model.cpp:41". A step has hundreds of outputs
/// and seldom a message, so the text of theirs is made when it is asked for.
class ValueLabel {
 public:
  ValueLabel() = default;
  ValueLabel(std::string text) : text_(std::move(text)) {}  // NOLINT(google-explicit-constructor)
  /// A value made at `origin`, the next one of `variable` unless that is empty. `strings` owns the
  /// views.
  ValueLabel(std::string_view variable, const Origin& origin,
             std::shared_ptr<const StringPool> strings)
      : variable_(variable), origin_(origin), strings_(std::move(strings)) {}

  std::string to_string() const {
    if (strings_ == nullptr) return text_;
    return variable_.empty() ? origin_.to_string()
                             : fmt::format("{} {}", variable_, origin_.to_string());
  }

 private:
  std::string text_;
  std::string_view variable_;
  Origin origin_;
  std::shared_ptr<const StringPool> strings_;
};

struct DeviceTensor {
  explicit DeviceTensor(Type type_, ValueLabel label_ = {})
      : type(type_), label(std::move(label_)) {}

  Type type;
  ValueLabel label;
  EventPtr ready = std::make_shared<Event>();
  /// Written before `ready` is marked: one buffer, or one per logical shard of this rank.
  std::vector<BufferPtr> shards;
};
using DeviceTensorPtr = std::shared_ptr<DeviceTensor>;

}  // namespace lockstep
