// Point-to-point messages between ranks, the interface that collective algorithms use. MPI is
// one implementation, mailboxes between threads (tests/ranks/in_process.h) are another; the
// algorithms (algorithms.h) and the queue (queued_communicator.h) exist once.
//
// A transport is created, used and destroyed by one thread, the communication thread of its rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "core/base/topology.h"

namespace lockstep {

class Transport {
 public:
  virtual ~Transport() = default;

  virtual const Topology& topology() const = 0;

  /// Starts to move bytes to or from another rank. Messages from one rank to another are matched in
  /// the order in which they were started and have the same length on both sides; empty ones are
  /// not sent. The memory must stay until finish() has returned.
  virtual void start_send(int to, std::span<const std::byte> bytes) = 0;
  virtual void start_receive(int from, std::span<std::byte> bytes) = 0;

  /// Makes progress. True once everything that was started has finished. Error kPeer if it never
  /// will.
  virtual bool test() = 0;

  /// Bytes of this rank's messages to ranks of other nodes so far. From any thread.
  virtual std::int64_t bytes_between_nodes() const = 0;

  /// Ends the job, or throws the kPeer error that all ranks get from now on.
  [[noreturn]] virtual void abort(int exit_code, const std::string& reason) = 0;

  /// Leaves the other ranks; called once, as the last call. `clean` is false after a failure: then
  /// it must not wait for other ranks.
  virtual void close(bool clean) = 0;

  /// Waits until everything that was started has finished. `interrupt` is called repeatedly and may
  /// throw to give up.
  void finish(const std::function<void()>& interrupt) {
    for (std::int64_t attempt = 0; !test(); ++attempt) {
      interrupt();
      relax(attempt);
    }
  }

 protected:
  /// Waits a little between two tests; `attempt` counts from 0 in each finish().
  virtual void relax(std::int64_t attempt) = 0;
};

}  // namespace lockstep
