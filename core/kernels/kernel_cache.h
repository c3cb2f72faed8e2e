// Structurally equal nodes on equal operand types share one kernel: a model of twelve equal layers
// builds a layer's kernels once. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/base/hash.h"
#include "core/kernels/kernel.h"

namespace lockstep {

class KernelCache {
 public:
  explicit KernelCache(const Target& target) : target_(target) {}

  std::shared_ptr<const Kernel> get(const Node& node, std::span<const Type> operands);
  std::int64_t built() const;   ///< kernels made so far
  std::int64_t shared() const;  ///< requests that an existing kernel served

 private:
  struct Entry {
    Graph key;  ///< inputs of the operand types and the node; compared in full
    std::shared_ptr<const Kernel> kernel;
  };
  Target target_;
  mutable std::mutex mutex_;
  std::unordered_map<Hash128, std::vector<Entry>, Hash128Hasher> entries_;
  std::int64_t built_ = 0;
  std::int64_t shared_ = 0;
};

}  // namespace lockstep
