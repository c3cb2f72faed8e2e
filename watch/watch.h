// The watch of a process: a thread, started first thing in main(), that publishes this process's
// page, finds the other ranks of its node, judges who is stuck (judge.h), says so on the console
// and in the log, and ends the process with code 7 when it has lasted too long. It also carries out
// what signals ask for when nobody else can: in phases that have nothing to save.
//
// It needs neither MPI nor the config: until set_limits() the defaults hold. A process that no
// launcher started has no peers, and judges its own loop.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/activity.h"
#include "core/base/log.h"
#include "watch/limits.h"

namespace lockstep {

/// What a signal that asks to stop does; see stop_signals.h.
enum class OnStop : std::uint8_t {
  kLeave,  ///< there is nothing to save: the watch ends the process with code 75
  kSave,   ///< the loop asks stop_requested(), saves, and ends by itself
  kEnd,    ///< nothing: all is saved, and the end is near
};

class Watch {
 public:
  /// A watch that watches nothing, for tests and programs of their own.
  Watch();
  /// The process's; once. Reads signals from StopSignals.
  static std::unique_ptr<Watch> of_this_process();
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// What the process publishes its doings through; inert in a watch of nothing.
  Activity activity() const;

  void set_limits(const WatchLimits& limits);
  /// Where messages go from now on besides standard error; null for nowhere. `is_console`: the log
  /// writes to the console, where a warning need not appear twice. Returns when the old one is no
  /// longer used.
  void set_log(Log* log, bool is_console);

  /// Holds a hub for the nodes of the job (side_hub.h) from now on, and returns its addresses.
  std::string hold_hub(const std::string& token, const std::string& interfaces);
  /// Watches the ranks of other nodes, too, through hubs; each is a list of addresses. Of a node's
  /// ranks the lowest one that can does it for all of them. Without effect if the launcher says
  /// that all ranks are on this node.
  void join_other_nodes(const std::vector<std::string>& hubs, const std::string& token);

  void on_stop(OnStop action);
  bool stop_requested() const;
  /// A signal asks to stop, and SIGKILL follows within two seconds: mpirun was interrupted.
  bool stop_is_hurried() const;

  /// The end of main(): waits for the node's other ranks if the process ends well (0 or 75), so
  /// that one which cannot end is still named, and publishes the code, which is returned.
  int leave(int code);

 private:
  class Sentry;
  std::unique_ptr<Sentry> sentry_;  ///< null in a watch of nothing
};

}  // namespace lockstep
