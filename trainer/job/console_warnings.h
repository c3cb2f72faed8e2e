// Warnings for people that any rank may see, and that must reach the console, which is rank 0's:
// those of the compile cache. Where there are none, nothing is sent: a rank that has some says so
// in the number that every step sums anyway (UpdateOptions::warned), and then all ranks exchange
// them; what no step told of is exchanged when the job ends.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/runtime/communicator.h"

namespace lockstep {

class ConsoleWarnings {
 public:
  /// Beyond so many of a rank between two exchanges the others are in its log only.
  static constexpr std::size_t kMaxKept = 16;

  /// References outlive it.
  ConsoleWarnings(Communicator& communicator, Log& log) : communicator_(communicator), log_(log) {}

  /// A warning that this rank's log has. From any thread.
  void add(std::string warning);
  /// Whether the others have to be told that this rank has warnings: once for each.
  bool announce();
  /// All ranks call it at the same place, with no collective under way. Those of other ranks that
  /// rank 0 did not see itself appear in its log, with the ranks that did.
  void exchange();

 private:
  Communicator& communicator_;
  Log& log_;
  std::mutex mutex_;
  std::vector<std::string> kept_;
  std::size_t announced_ = 0;  ///< of them
};

}  // namespace lockstep
