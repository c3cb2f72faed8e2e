// Structurally equal nodes on equal operand types share one kernel: a model of twelve equal layers
// plans a layer's kernels once, and generates their code once, when the first of them is to run.
// Kernels that only the cache holds are dropped when there are as many of them as others, and at
// least a minimum. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/kernels/base/kernel.h"

namespace lockstep {

class KernelCache {
 public:
  explicit KernelCache(const Target& target, Log& log = Log::null());
  ~KernelCache();
  KernelCache(const KernelCache&) = delete;
  KernelCache& operator=(const KernelCache&) = delete;

  /// The facts of a node's kernel; generates no code.
  std::shared_ptr<const KernelFacts> facts(const Graph& graph, ValueId node);
  /// The kernel, ready to run.
  std::shared_ptr<const Kernel> get(const Graph& graph, ValueId node);
  std::shared_ptr<const Kernel> get(const Node& node, std::span<const Type> operands);
  /// The key of a kernel: a hash of the node's structure and of its operands' types.
  static Hash128 key_of(const Graph& graph, ValueId node);
  /// Machine code (Kernel::object_code) to use if the kernel with this key has to be built, until
  /// the next call of drop_offers().
  void offer(const Hash128& key, std::string object_code);
  void drop_offers();
  /// Drops kernels that only the cache holds.
  void drop_unused();
  std::int64_t built() const;     ///< kernels whose code was generated so far
  std::int64_t shared() const;    ///< requests that found one of them
  std::int64_t compiled() const;  ///< functions, by LLVM

 private:
  struct Entry {
    Graph key;  ///< inputs of the operand types and the node; compared in full
    std::shared_ptr<Kernel> kernel;
    bool built = false;  ///< its code was generated
  };
  // Under the lock, as the names below.
  /// The entry of that key, created if needed; valid until the next call.
  Entry& entry_of(const Node& node, std::span<const Type> operands, const Hash128& hash, Graph key);
  void drop_unheld();

  static constexpr std::size_t kMinKept = 256;  ///< kernels that are kept, held or not
  Target target_;
  Log& log_;
  std::unique_ptr<codegen::CodeCache> codes_;
  mutable std::mutex mutex_;
  std::unordered_map<Hash128, std::vector<Entry>, Hash128Hasher> entries_;
  std::unordered_map<Hash128, std::string, Hash128Hasher> offers_;
  std::size_t kernels_ = 0;         ///< in entries_
  std::size_t drop_at_ = kMinKept;  ///< kernels
  std::int64_t built_ = 0;
  std::int64_t shared_ = 0;
};

}  // namespace lockstep
