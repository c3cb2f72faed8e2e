// The compiled steps of this process by number, for listeners of spans: a command's span has the
// number of its program only. The table holds no program alive: a listener that needs one later
// keeps it at its first span, while it runs. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace lockstep {

struct CompiledStep;

class ProgramTable {
 public:
  /// Returns the program's number, valid as long as the program lives.
  std::int64_t add(const std::shared_ptr<const CompiledStep>& program);
  /// Null if it is gone.
  std::shared_ptr<const CompiledStep> find(std::int64_t id) const;

 private:
  mutable std::mutex mutex_;
  std::int64_t next_ = 0;
  std::map<std::int64_t, std::weak_ptr<const CompiledStep>> programs_;
};

}  // namespace lockstep
