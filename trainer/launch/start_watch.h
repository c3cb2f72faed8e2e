// Watches a job before its ranks exist. mpirun starts them through ssh or a scheduler and daemons
// of its own, and waits for minutes, silently, for a host that is gone.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <string>
#include <vector>

#include "trainer/launch/lost_hosts.h"

namespace lockstep {

class StartWatch {
 public:
  // Seconds:
  static constexpr double kAskEvery = 5;
  /// For which a host that has answered before may be silent.
  static constexpr double kPatience = 10;
  /// The same for one that never did: a firewall may hide it.
  static constexpr double kLongPatience = 60;

  /// As silences_of(): it may take seconds, and is called on another thread.
  using Ask = std::function<std::vector<std::string>(const std::vector<std::string>& hosts)>;

  /// `max_seconds`: until the first rank must exist.
  StartWatch(std::vector<std::string> hosts, double max_seconds, std::int64_t now_ns,
             Ask ask = silences_of);

  /// Call it now and then while there are no ranks. Sentences that say why there will be none: on
  /// hosts that do not answer, or on the limit. Empty: wait on.
  std::vector<std::string> look(std::int64_t now_ns);

 private:
  struct Host {
    std::string name;
    bool has_answered = false;
    std::int64_t answered_ns;  ///< or the begin
    std::string silence = {};  ///< why it does not answer; empty if it does
  };
  void take_answers(std::int64_t now_ns);

  std::vector<Host> hosts_;
  double max_seconds_;
  Ask ask_;
  std::int64_t begin_ns_;
  std::int64_t asked_ns_ = -1;
  std::future<std::vector<std::string>> answers_;  ///< of all hosts, in order; valid while asked
};

}  // namespace lockstep
