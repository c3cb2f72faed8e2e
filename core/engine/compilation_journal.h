// Keeps what was compiled and why: explains every miss of the compile cache, counts causes, warns
// of programs that come without end, and tells the listener. Used by the host's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <source_location>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/log.h"
#include "core/engine/compilation.h"
#include "core/explain/tally.h"
#include "core/trace/cut_trace.h"

namespace lockstep {

/// How a graph was cut, as far as it is known beside it.
struct Cut {
  std::string_view reason = {};  ///< empty: nothing was cut yet
  std::source_location where = {};
  bool by_read = false;
  std::size_t recorded = 0;
  std::uint32_t modes = 0;
  std::span<TensorState* const> outputs = {};  ///< the tensors that are
};
Cut cut_of(const CutTrace& trace, SyncReason reason, const std::source_location& where);

class CompilationJournal {
 public:
  struct Limit {
    std::size_t programs = 64;  ///< different ones, beyond which there is something wrong
    bool stop = false;          ///< there, instead of a warning
  };
  CompilationJournal(const Limit& limit, Log& log) : limit_(limit), log_(log) {}

  /// Batches are padded to one of these lengths: another of them is no fault, but what was asked
  /// for.
  void batches_are_padded_to(std::span<const std::int64_t> lengths) {
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
  /// Error kUsage if it is one program too many and the limit says so.
  Miss begin(const Graph& graph, const Cut& cut, std::int64_t step);
  /// Why it was not found on disk although it might have been.
  static void add_causes(Miss& miss, std::vector<Difference> on_disk);
  /// The program that came of it.
  struct Outcome {
    std::int64_t program;  ///< its number
    bool loaded;           ///< from the disk
    double seconds;        ///< that it took
  };
  void finish(Miss miss, const Outcome& outcome);
  /// No further graph follows for now: tells what waits for one.
  void flush();

  const CauseTally& causes() const { return causes_; }
  /// Told of everything from now on.
  void set_listener(CompilationListener listener) { listener_ = std::move(listener); }

 private:
  void tell_buckets(Explanation& explanation) const;
  void check_limit(const Explanation& explanation);
  void settle(const Explanation* next);
  void note(const Cut& cut);
  void tell(CompilationRecord record);

  Limit limit_;
  Log& log_;
  ProgramHistory history_;
  CauseTally causes_;
  CompilationListener listener_;
  Cut last_cut_;             ///< without its outputs
  std::size_t warn_at_ = 0;  ///< programs; 0: at the limit
  std::set<std::int64_t> buckets_;
  /// Whether its read is a cause shows in what follows.
  std::optional<CompilationRecord> waiting_;
};

}  // namespace lockstep
