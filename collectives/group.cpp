#include "collectives/group.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"

namespace lockstep {

Group::Group(Transport& transport, std::vector<int> ranks, const std::function<void()>& interrupt)
    : transport_(transport), interrupt_(interrupt), ranks_(std::move(ranks)) {
  const auto self = std::find(ranks_.begin(), ranks_.end(), transport.topology().rank());
  LS_CHECK(self != ranks_.end(), "rank {} is not a member of its group",
           transport.topology().rank());
  self_ = static_cast<int>(self - ranks_.begin());
}

}  // namespace lockstep
