// Warnings of any rank that must reach the console, which is rank 0's: those of the compile cache.
// Without warnings nothing is sent. A rank that has some sets a flag in the numbers that every step
// sums anyway (UpdateOptions::warned), and then all ranks exchange them. Warnings that no step
// announced are exchanged when the job ends.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/runtime/communicator.h"

namespace lockstep {

class ConsoleWarnings {
 public:
  /// The maximum number per rank between two exchanges; further ones are in its log only.
  static constexpr std::size_t kMaxKept = 16;

  /// References outlive it.
  ConsoleWarnings(Communicator& communicator, Log& log) : communicator_(communicator), log_(log) {}

  /// Adds a warning that is already in this rank's log. From any thread.
  void add(std::string warning);
  /// Whether this rank must notify the others of new warnings; true once for each.
  bool announce();
  /// All ranks call it at the same place, with no collective under way. Rank 0 logs the warnings of
  /// other ranks that it did not have itself, with the ranks that had them.
  void exchange();

 private:
  Communicator& communicator_;
  Log& log_;
  std::mutex mutex_;
  std::vector<std::string> kept_;
  std::size_t announced_ = 0;  ///< of them
};

}  // namespace lockstep
