// A communicator that publishes which call this rank waits in, so that the watch can distinguish a
// rank that waits for others from one that is stuck.
#pragma once

#include <memory>

#include "core/base/activity.h"
#include "core/runtime/communicator.h"

namespace lockstep {

/// Forwards every call to `inner`. Each call that may block for other ranks is a PeerWait of
/// `activity`: "all_reduce bucket 4", "exchange 'checkpoint saved'". To wait for an event, call
/// wait(): the watch cannot see a wait in Event::wait().
std::unique_ptr<Communicator> make_watched_communicator(std::unique_ptr<Communicator> inner,
                                                        Activity activity);

}  // namespace lockstep
