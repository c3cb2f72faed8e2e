#include "watch/proc_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace lockstep {

std::optional<std::string> read_proc_file(const std::string& path) {
  constexpr std::size_t kLargest = std::size_t{1} << 20;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string out;
  std::array<char, 4096> part{};
  while (true) {
    const ssize_t got = ::read(fd, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 || out.size() > kLargest) {
      ::close(fd);
      return std::nullopt;
    }
    if (got == 0) break;
    out.append(part.data(), static_cast<std::size_t>(got));
  }
  ::close(fd);
  return out;
}

}  // namespace lockstep
