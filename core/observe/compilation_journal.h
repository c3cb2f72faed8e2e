// Records what was compiled and why: explains every miss of the compile cache, counts causes, warns
// of an unbounded number of programs, and calls the listener. Used by the host's thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/log.h"
#include "core/explain/tally.h"
#include "core/observe/compilation.h"
#include "core/trace/cut_trace.h"

namespace lockstep {

/// How a graph was cut, as far as the graph itself does not say it.
struct Cut {
  std::string_view reason = {};  ///< empty: no cut yet
  std::source_location where = {};
  bool by_read = false;
  bool has_step = true;  ///< a loop numbers its steps; else the cuts of each line are counted
  std::size_t recorded = 0;
  std::span<const DroppedOp> dropped = {};
  std::uint32_t modes = 0;
  std::span<const ModePlace> mode_places = {};
  std::span<TensorState* const> outputs = {};  ///< the tensors that are outputs
};
Cut cut_of(const CutTrace& trace, SyncReason reason, const std::source_location& where);

class CompilationJournal {
 public:
  struct Limit {
    std::size_t programs = 64;  ///< maximum number of different programs of a sound run
    bool stop = false;          ///< raise an error beyond it, instead of a warning
  };
  CompilationJournal(const Limit& limit, Log& log) : limit_(limit), log_(log) {}

  /// Data loaders pad these dimensions of batches, "batch.tokens[length]", to one of these lengths,
  /// if there are any: a program for each of them is expected.
  void batches_are_padded(std::span<const std::string> dimensions,
                          std::span<const std::int64_t> lengths) {
    padded_.insert(dimensions.begin(), dimensions.end());
    buckets_.insert(lengths.begin(), lengths.end());
  }

  /// A program of this structure was found in memory.
  void hit(const Hash128& structure, const Cut& cut);

  /// A miss under way.
  struct Miss {
    std::shared_ptr<const GraphDescriptor> graph;
    std::int64_t step = 0;
    Explanation explanation;
  };
  /// Error kUsage if the program is one too many and the limit's `stop` is set.
  Miss begin(const Graph& graph, const Cut& cut, std::int64_t step);
  /// Adds the reasons why the program was not found on disk.
  static void add_causes(Miss& miss, std::vector<Difference> on_disk);
  /// The resulting program.
  struct Outcome {
    std::int64_t program;  ///< its number
    bool loaded;           ///< from the disk
    double seconds;        ///< that it took
    PassMs pass_ms = {};   ///< of what was compiled
  };
  void finish(Miss miss, Outcome outcome);
  /// No further graph follows for now: reports the record that waits for one.
  void flush();

  const CauseTally& causes() const { return causes_; }
  /// The listener is called for every record from now on.
  void set_listener(CompilationListener listener) { listener_ = std::move(listener); }

 private:
  void tell_buckets(Explanation& explanation) const;
  void check_limit(const Explanation& explanation);
  void settle(const Explanation* next);
  void note(const Cut& cut);
  std::int64_t& cuts_at(const Cut& cut);
  void tell(CompilationRecord record);

  Limit limit_;
  Log& log_;
  ProgramHistory history_;
  CauseTally causes_;
  CompilationListener listener_;
  Cut last_cut_;  ///< without what refers to its trace
  std::map<std::pair<std::string_view, std::uint32_t>, std::int64_t> cuts_;  ///< of each line
  std::size_t warn_at_ = 0;       ///< programs; 0: at the limit
  std::set<std::string> padded_;  ///< dimensions
  std::set<std::int64_t> buckets_;
  /// A record that waits: the next graph shows whether its read is a cause.
  std::optional<CompilationRecord> waiting_;
};

}  // namespace lockstep
