#include "core/observe/program_table.h"

namespace lockstep {

std::int64_t ProgramTable::add(const std::shared_ptr<const CompiledStep>& program) {
  const std::lock_guard lock(mutex_);
  std::erase_if(programs_, [](const auto& entry) { return entry.second.expired(); });
  programs_.emplace(next_, program);
  return next_++;
}

std::shared_ptr<const CompiledStep> ProgramTable::find(std::int64_t id) const {
  const std::lock_guard lock(mutex_);
  const auto found = programs_.find(id);
  return found == programs_.end() ? nullptr : found->second.lock();
}

}  // namespace lockstep
