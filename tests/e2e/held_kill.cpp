// A library for LD_PRELOAD: the process sends no SIGKILL while there is a file of this name in the
// folder where it runs. So a test can extend the time before it kills a process.
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

namespace {

constexpr const char* kHeld = "sigkill_is_held";

}  // namespace

extern "C" int kill(pid_t pid, int number) noexcept {
  static const auto real_kill = reinterpret_cast<int (*)(pid_t, int)>(dlsym(RTLD_NEXT, "kill"));
  while (number == SIGKILL && access(kHeld, F_OK) == 0) usleep(1000);
  return real_kill(pid, number);
}
