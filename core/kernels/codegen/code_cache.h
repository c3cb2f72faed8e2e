// Compiled groups by the facts that their code depends on. Groups that differ only in other facts,
// such as the number of elements of a contiguous one, share a function. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "core/kernels/codegen/object_code.h"

namespace lockstep::codegen {

class CodeCache {
 public:
  explicit CodeCache(Isa isa) : isa_(isa) {}

  /// The nest's function: from the cache, or loaded from `offered` (the bytes() of code that
  /// another process compiled), or compiled now. An offer of other code, or a damaged one, is
  /// ignored.
  std::shared_ptr<const GroupCode> get(const LoopNest& nest, std::string_view offered, Log& log);
  /// Drops code that only the cache holds.
  void drop_unused();
  std::int64_t compiled() const;  ///< groups that LLVM generated code for

 private:
  std::shared_ptr<const GroupCode> make(const std::string& key, const LoopNest& nest,
                                        std::string_view offered, Log& log);

  Isa isa_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const GroupCode>> codes_;  ///< by text of the nest
  std::int64_t compiled_ = 0;
};

}  // namespace lockstep::codegen
