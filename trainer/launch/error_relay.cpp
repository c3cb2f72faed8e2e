#include "trainer/launch/error_relay.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <string_view>

#include "core/base/error.h"
#include "trainer/launch/mpirun_remarks.h"

namespace lockstep {
namespace {

/// OpenMPI writes a remark at once; what is not continued for so long is none.
constexpr int kContinuationMs = 200;

/// An error is ignored: there is nobody to tell.
void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

ErrorRelay::ErrorRelay(int descriptor)
    : descriptor_(descriptor), stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (stop_ < 0) raise_errno(ErrorKind::kInternal, "no eventfd");
  thread_ = std::thread([this] { run(); });
}

void ErrorRelay::end() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  (void)!::write(stop_, &one, sizeof one);
  thread_.join();
}

ErrorRelay::~ErrorRelay() {
  end();
  ::close(stop_);
  ::close(descriptor_);
}

void ErrorRelay::run() {
  MpirunRemarks remarks;
  std::array<char, 4096> bytes{};
  while (true) {
    std::array<pollfd, 2> waited{{{descriptor_, POLLIN, 0}, {stop_, POLLIN, 0}}};
    const int ready = ::poll(waited.data(), waited.size(), remarks.holds() ? kContinuationMs : -1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) write_all(remarks.release());
    if (ready == 0) continue;
    if (ready < 0 || waited[0].revents == 0) break;  // asked to stop, and nothing is left
    const ssize_t count = ::read(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    write_all(remarks.take({bytes.data(), static_cast<std::size_t>(count)}));
  }
  write_all(remarks.release());
  lost_hosts_ = remarks.lost_hosts();
}

}  // namespace lockstep
