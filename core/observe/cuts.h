// Why and where steps were cut: each mark_step by reason and line, and each read of a value by
// line, with the value it waited for and the time the device was idle because of it. A read between
// taking a batch and mark_step is a graph break: the host waits for the device in the middle of a
// step, and then the device waits for the host. Reads by lockstep itself are not counted
// (OwnReads).
//
// The device is idle because of a read from the moment when its stream is empty to the next
// execution queued after the read. If several reads lie in between, the time counts for the first
// that found the stream empty.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace lockstep {

class Cuts {
 public:
  struct Row {
    std::string reason =
        {};                 ///< name_of(SyncReason); "value read" for reads of computed values, too
    std::string line = {};  ///< "boxes.cpp:57"; "" where lockstep cuts
    std::string what = {};  ///< of the first read: "f32[8,4] boxes.cpp:41 (head)"
    /// The steps of which `what` ("the loss") is a number; 0: it is not such a number.
    std::int64_t first_step = 0, last_step = 0;
    bool in_step = false;  ///< a read between taking a batch and mark_step
    std::int64_t count = 0;
    std::int64_t waited_ns = 0;  ///< of the host
    std::int64_t idle_ns = 0;    ///< of the device
    /// The name of the value read: "the loss of step 3", "the loss of steps 3 to 60".
    std::string told() const;
  };
  using RowId = std::int64_t;
  static constexpr RowId kNoRow = -1;
  /// Lines beyond this number share one row.
  static constexpr std::size_t kMaxRows = 256;

  /// Counts one more of it. Rows differ in reason, line or in_step.
  RowId add(const Row& row);
  void add_wait(RowId row, std::int64_t ns);
  void add_idle(RowId row, std::int64_t ns);

  std::int64_t graph_breaks() const;  ///< reads in steps
  /// Sorted by wait plus idle time, the longest first.
  std::vector<Row> rows() const;
  /// The line with the most idle time of the device, "" if there is none.
  std::string worst_line() const;

 private:
  using Key = std::tuple<std::string, std::string, bool>;
  mutable std::mutex mutex_;
  std::map<Key, RowId> index_;
  std::vector<Row> rows_;
};

/// A text for people: the reads that were graph breaks or left the device idle, and how to avoid
/// them; empty if there are none.
std::string describe_reads(const std::vector<Cuts::Row>& rows);

}  // namespace lockstep
