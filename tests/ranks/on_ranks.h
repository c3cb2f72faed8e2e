// Runs N in-process ranks as threads.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "core/runtime/communicator.h"
#include "tests/fixtures/error_of.h"
#include "tests/ranks/in_process.h"
#include "tests/ranks/requests.h"

namespace lockstep {

/// Calls body(communicator) on a thread per rank and joins them; the communicators live until all
/// are done. The first exception, by rank, is rethrown.
inline void on_ranks(const std::vector<std::unique_ptr<Communicator>>& communicators,
                     const std::function<void(Communicator&)>& body) {
  std::vector<std::exception_ptr> errors(communicators.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < communicators.size(); ++rank) {
      threads.emplace_back([&, rank] {
        try {
          body(*communicators[rank]);
        } catch (...) {
          errors[rank] = std::current_exception();
        }
      });
    }
  }
  for (const auto& error : errors) {
    if (error != nullptr) std::rethrow_exception(error);
  }
}

inline void on_ranks(int ranks, const std::function<void(Communicator&)>& body,
                     SharedMemoryUse shared_memory = SharedMemoryUse::kNever) {
  on_ranks(make_in_process_communicators(ranks, {.shared_memory = shared_memory}), body);
}

/// The same for ranks that share memory.
inline void on_sharing_ranks(int ranks, const std::function<void(Communicator&)>& body) {
  on_ranks(ranks, body, SharedMemoryUse::kRequired);
}

/// The error of this kind that each rank ends with, as error_of (tests/fixtures/error_of.h) tells
/// it.
inline std::vector<std::string> errors_on_ranks(int ranks, ErrorKind kind,
                                                const std::function<void(Communicator&)>& body) {
  std::vector<std::string> out(static_cast<std::size_t>(ranks));
  on_ranks(ranks, [&](Communicator& communicator) {
    out[static_cast<std::size_t>(communicator.rank())] =
        error_of(kind, [&] { body(communicator); });
  });
  return out;
}

/// The same for ranks on several (simulated) nodes.
inline void on_nodes(const std::vector<int>& node_ids, bool fixed_order,
                     const std::function<void(Communicator&)>& body) {
  on_ranks(make_in_process_communicators(static_cast<int>(node_ids.size()),
                                         {.shared_memory = SharedMemoryUse::kIfPossible,
                                          .fixed_order = fixed_order,
                                          .node_ids = node_ids}),
           body);
}

/// The bytes of a vector: comparing them compares bits, not values.
template <class T>
std::string bits_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace lockstep
