// A communicator that publishes for whom and in what this rank waits, so that the watch can tell a
// rank that waits from one that is stuck.
#pragma once

#include <memory>

#include "core/base/activity.h"
#include "core/runtime/communicator.h"

namespace lockstep {

/// Does what `inner` does. Every call that may block for other ranks is a PeerWait of `activity`:
/// "all_reduce bucket 4", "exchange 'checkpoint saved'". To wait for an event, call wait(): what
/// Event::wait() waits for cannot be seen.
std::unique_ptr<Communicator> make_watched_communicator(std::unique_ptr<Communicator> inner,
                                                        Activity activity);

}  // namespace lockstep
