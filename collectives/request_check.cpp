#include "collectives/request_check.h"

#include "collectives/header.h"
#include "collectives/tree_sum.h"
#include "core/base/error.h"

namespace lockstep {

void check_request(const CollectiveRequest& request, int size) {
  const auto kind = name_of(request.kind);
  LS_USER_CHECK(request.kind != CollectiveKind::kExchange,
                "an exchange cannot be submitted; call Communicator::exchange");
  LS_USER_CHECK(request.count >= 0, "{} of {} elements: the count is negative", kind,
                request.count);
  LS_USER_CHECK(request.data != nullptr || request.count == 0, "{} of {} elements without data",
                kind, request.count);
  const bool sums =
      request.kind == CollectiveKind::kAllReduce || request.kind == CollectiveKind::kReduceScatter;
  LS_USER_CHECK(!sums || can_sum(request.dtype),
                "{} cannot sum {}; f32, f64, i32 and i64 can be summed", kind,
                name_of(request.dtype));
  LS_USER_CHECK(
      request.kind != CollectiveKind::kBroadcast || (request.root >= 0 && request.root < size),
      "broadcast from rank {} in a job of {} ranks", request.root, size);
}

}  // namespace lockstep
