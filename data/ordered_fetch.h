// Runs numbered jobs on worker threads ahead of time and hands out their results in order.
//
// Work comes in groups (a step) of parts (its micro-batches). Parts are fetched out of order by any
// free worker; next() returns groups in order, with parts in order within a group, so that the
// output does not depend on the number of workers.
//
// The number of groups is bounded: only next() starts new groups, never more than `prefetch` at a
// time. Workers therefore never wait for room, and destruction cannot hang on a queue; it waits
// only for the parts that are being fetched at that moment.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/activity.h"
#include "data/samples/dataset.h"

namespace lockstep {

class OrderedFetch {
 public:
  using Fetch = std::function<HostBatch(std::int64_t group, std::int64_t part)>;

  struct Options {
    std::int64_t first = 0;                ///< the first group
    std::optional<std::int64_t> end = {};  ///< groups are numbered [first, end); endless without
    std::int64_t parts = 1;                ///< per group
    int workers = 0;                       ///< threads; 0 fetches within next()
    std::int64_t prefetch = 2;             ///< groups fetched ahead; ignored without workers
    Activity activity = {};                ///< reports every part
  };

  /// `fetch` is called from several threads at once. Error kUsage for impossible options. Workers
  /// start at once.
  OrderedFetch(Fetch fetch, const Options& options);
  ~OrderedFetch();
  OrderedFetch(const OrderedFetch&) = delete;
  OrderedFetch& operator=(const OrderedFetch&) = delete;

  bool has_next() const { return !options_.end || next_ < *options_.end; }
  /// The number of the group that next() will return.
  std::int64_t position() const { return next_; }

  /// The parts of the next group. If one failed, rethrows the failure of the lowest part, now and
  /// at every later call. Error kInternal if there is no next group. One caller at a time.
  std::vector<HostBatch> next();

 private:
  struct Group;
  struct Workers;
  void start_groups();
  void run_part(Group& group, std::int64_t number, std::int64_t part);

  Fetch fetch_;
  Options options_;
  std::int64_t next_;              ///< group to hand out
  std::int64_t started_;           ///< groups [next_, started_) are in flight or ready
  std::exception_ptr failure_;     ///< the failure that next() has thrown
  std::unique_ptr<Workers> work_;  ///< last, so that its threads end before what they use
};

}  // namespace lockstep
