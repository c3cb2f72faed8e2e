#include "watch/process_state.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "watch/proc_file.h"

namespace lockstep {

std::string_view name_of(ProcessState state) {
  switch (state) {
    case ProcessState::kRunning: return "running";
    case ProcessState::kStopped: return "stopped";
    case ProcessState::kTraced: return "held by a debugger";
    case ProcessState::kDiskWait: return "waiting for a disk or a file system";
    case ProcessState::kGone: return "gone";
    case ProcessState::kUnknown: return "out of sight";
  }
  __builtin_unreachable();
}

bool is_halted(ProcessState state) {
  return state == ProcessState::kStopped || state == ProcessState::kTraced ||
         state == ProcessState::kGone;
}

ProcessState parse_process_state(std::string_view stat) {
  // "PID (name) S ...": the name may hold parentheses and spaces, what follows it does not.
  const std::size_t end_of_name = stat.rfind(')');
  if (end_of_name == std::string_view::npos || end_of_name + 2 >= stat.size())
    return ProcessState::kUnknown;
  switch (stat[end_of_name + 2]) {
    case 'T': return ProcessState::kStopped;
    case 't': return ProcessState::kTraced;
    case 'D': return ProcessState::kDiskWait;
    case 'Z':
    case 'X':
    case 'x': return ProcessState::kGone;
    default: return ProcessState::kRunning;
  }
}

ProcessState process_state(std::int64_t pid) {
  if (const auto stat = read_proc_file(fmt::format("/proc/{}/stat", pid)))
    return parse_process_state(*stat);
  struct stat proc {};
  return ::stat("/proc/self/stat", &proc) == 0 ? ProcessState::kGone : ProcessState::kUnknown;
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

}  // namespace lockstep
