// Why and where steps were cut: each mark_step by reason and line, and each read of a value by
// line, with what it waited for and how long the device stood idle because of it. A read between
// taking a batch and mark_step is a graph break: the host waits for the device in the middle of a
// step, and the device then for the host. What lockstep reads for itself is not counted (OwnReads).
//
// The device is idle because of a read from the moment it has nothing to do to the next execution
// that is queued after the read. Of several reads in between the first that found the stream empty
// is to blame.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "core/trace/context.h"

namespace lockstep {

class Cuts {
 public:
  struct Row {
    std::string reason =
        {};                 ///< name_of(SyncReason); "value read" for reads of computed values, too
    std::string line = {};  ///< "boxes.cpp:57"; "" where lockstep cuts
    std::string what = {};  ///< of a read: "f32[8,4] boxes.cpp:41 (head)", the first there
    /// Of which steps `what` is a number: "the loss"; 0: it is none.
    std::int64_t first_step = 0, last_step = 0;
    bool in_step = false;  ///< a read between taking a batch and mark_step
    std::int64_t count = 0;
    std::int64_t waited_ns = 0;  ///< of the host
    std::int64_t idle_ns = 0;    ///< of the device
    /// What was read: "the loss of step 3", "the loss of steps 3 to 60".
    std::string told() const;
  };
  using RowId = std::int64_t;
  static constexpr RowId kNoRow = -1;
  /// Lines beyond so many share one row.
  static constexpr std::size_t kMaxRows = 256;

  /// One more of it. Rows are told apart by reason, line and in_step.
  RowId add(const Row& row);
  void add_wait(RowId row, std::int64_t ns);
  void add_idle(RowId row, std::int64_t ns);

  std::int64_t graph_breaks() const;  ///< reads in steps
  /// The longest wait and idleness first.
  std::vector<Row> rows() const;
  /// The line with the most idleness of the device, "" if there is none.
  std::string worst_line() const;

 private:
  using Key = std::tuple<std::string, std::string, bool>;
  mutable std::mutex mutex_;
  std::map<Key, RowId> index_;
  std::vector<Row> rows_;
};

/// The reads that were graph breaks or left the device idle, for people, and what to do about them;
/// empty if none did.
std::string describe_reads(const std::vector<Cuts::Row>& rows);

}  // namespace lockstep
