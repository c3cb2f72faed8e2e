// The compiled steps of this process by number, for who hears of them in spans: a command's span
// tells the number of its program, not what it is. Holds none alive: who wants to remember one
// keeps it when its first span comes, while it runs. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "core/engine/compile.h"

namespace lockstep {

class ProgramTable {
 public:
  /// The number by which it is known as long as it lives.
  std::int64_t add(const std::shared_ptr<const CompiledStep>& program);
  /// Null if it is gone.
  std::shared_ptr<const CompiledStep> find(std::int64_t id) const;

 private:
  mutable std::mutex mutex_;
  std::int64_t next_ = 0;
  std::map<std::int64_t, std::weak_ptr<const CompiledStep>> programs_;
};

}  // namespace lockstep
