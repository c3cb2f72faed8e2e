// Runs N in-process ranks as threads, as the tests of this folder need them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "collectives/in_process.h"
#include "core/base/error.h"
#include "core/runtime/communicator.h"
#include "tests/core/error_of.h"

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

inline void on_ranks(int ranks, const std::function<void(Communicator&)>& body) {
  on_ranks(make_in_process_communicators(ranks), body);
}

/// The same for ranks that share memory.
inline void on_sharing_ranks(int ranks, const std::function<void(Communicator&)>& body) {
  on_ranks(make_in_process_communicators(ranks, {.shared_memory = SharedMemoryUse::kRequired}),
           body);
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

template <class T>
CollectiveRequest request_of(CollectiveKind kind, std::vector<T>& data, std::int64_t count) {
  CollectiveRequest out;
  out.kind = kind;
  out.data = reinterpret_cast<std::byte*>(data.data());
  out.dtype = DTypeOf<T>::value;
  out.count = count;
  return out;
}

template <class T>
CollectiveRequest all_reduce_of(std::vector<T>& data) {
  return request_of(CollectiveKind::kAllReduce, data, static_cast<std::int64_t>(data.size()));
}

/// The bytes of a vector: comparing them compares bits, not values.
template <class T>
std::string bits_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace lockstep
