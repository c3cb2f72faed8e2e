// In-process ranks as threads.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "collectives/in_process.h"
#include "core/base/error.h"
#include "core/runtime/communicator.h"
#include "tests/core/error_of.h"

namespace lockstep {

/// Calls body(communicator) on a thread per rank; rethrows the first exception, by rank.
inline void on_ranks(int ranks, const std::function<void(Communicator&)>& body,
                     SharedMemoryUse shared_memory = SharedMemoryUse::kNever) {
  const auto communicators = make_in_process_communicators(ranks, {.shared_memory = shared_memory});
  std::vector<std::exception_ptr> errors(communicators.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < communicators.size(); ++rank)
      threads.emplace_back([&, rank] {
        try {
          body(*communicators[rank]);
        } catch (...) {
          errors[rank] = std::current_exception();
        }
      });
  }
  for (const auto& error : errors)
    if (error != nullptr) std::rethrow_exception(error);
}

}  // namespace lockstep
