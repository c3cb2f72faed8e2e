// The watch of a process: a thread, started first in main(). It publishes this process's page,
// finds the other ranks of its node, decides which are stuck (judge.h), reports them on the console
// and in the log, and ends the process with code 7 if one is stuck for too long. It also carries
// out a signal's request to stop in phases that have nothing to save, where no other thread can.
//
// It needs neither MPI nor the config: the defaults hold until set_limits(). A process that no
// launcher started has no peers; its watch judges its own loop.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/activity.h"
#include "core/base/log.h"
#include "watch/limits.h"

namespace lockstep {

/// The effect of a signal that requests to stop; see stop_signals.h.
enum class OnStop : std::uint8_t {
  kLeave,  ///< there is nothing to save: the watch ends the process with code 75
  kSave,   ///< the loop checks stop_requested(), saves, and ends by itself
  kEnd,    ///< none: everything is saved, and the process is about to end
};

class Watch {
 public:
  /// A watch that watches nothing, for tests and for programs of users.
  Watch();
  /// The watch of this process; call it once. Reads signals from StopSignals.
  static std::unique_ptr<Watch> of_this_process();
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Publishes the activity of this process; inert in a watch that watches nothing.
  Activity activity() const;

  void set_limits(const WatchLimits& limits);
  /// Sets the log that messages go to besides standard error; null for none. `is_console`: the log
  /// writes to the console, so a warning is not printed twice. Returns when the old log is no
  /// longer used.
  void set_log(Log* log, bool is_console);

  /// Runs a hub for the nodes of the job (side_hub.h) from now on, at these addresses of this host,
  /// and returns where it is reached.
  std::string hold_hub(const std::string& token, const std::vector<std::string>& addresses);
  /// Also watches the ranks of other nodes, through hubs; each is a list of addresses. On each node
  /// the lowest rank that is able to does this for all of its ranks. No effect if the launcher
  /// reports that all ranks are on this node.
  void join_other_nodes(const std::vector<std::string>& hubs, const std::string& token);

  void on_stop(OnStop action);
  bool stop_requested() const;
  /// A signal requests to stop, and SIGKILL follows within two seconds: mpirun was interrupted.
  bool stop_is_hurried() const;

  /// Call it at the end of main(). If the process ends well (0 or 75), it waits for the node's
  /// other ranks, so that one which cannot end is still reported. Publishes the code, and returns
  /// it.
  int leave(int code);

 private:
  class WatchThread;
  std::unique_ptr<WatchThread> watch_thread_;  ///< null in a watch that watches nothing
};

}  // namespace lockstep
