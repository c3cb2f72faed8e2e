#include "bench/simulated_ranks/open_messages.h"

#include "core/base/error.h"

namespace lockstep {

OpenMessages::OpenMessages(int ranks)
    : ranks_(static_cast<std::size_t>(ranks)), first_(ranks_ * ranks_, kNone) {}

std::optional<SimulatedMessage> OpenMessages::send(int from, int to,
                                                   std::span<const std::byte> bytes) {
  return match(from, to,
               {.bytes = static_cast<std::int64_t>(bytes.size()), .source = bytes.data()});
}

std::optional<SimulatedMessage> OpenMessages::receive(int from, int to,
                                                      std::span<std::byte> bytes) {
  return match(from, to,
               {.bytes = static_cast<std::int64_t>(bytes.size()), .target = bytes.data()});
}

std::optional<SimulatedMessage> OpenMessages::match(int from, int to, const Half& mine) {
  std::uint32_t& oldest = first(from, to);
  const bool sends = mine.source != nullptr;
  if (oldest == kNone || (halves_[oldest].source != nullptr) == sends) {
    append(oldest, mine);
    return std::nullopt;
  }
  Half& other = halves_[oldest];
  LS_CHECK(other.bytes == mine.bytes, "a message of {} bytes from rank {} to rank {} where {} {}",
           sends ? mine.bytes : other.bytes, from, to, sends ? other.bytes : mine.bytes,
           "were expected");
  const SimulatedMessage out{.from = from,
                             .to = to,
                             .bytes = mine.bytes,
                             .source = sends ? mine.source : other.source,
                             .target = sends ? other.target : mine.target};
  const std::uint32_t matched = oldest;
  oldest = other.next;
  other.next = free_;
  free_ = matched;
  return out;
}

// Few messages of two ranks are open at once, so the walk to the last one is short.
void OpenMessages::append(std::uint32_t& first, const Half& half) {
  std::uint32_t* last = &first;
  while (*last != kNone) last = &halves_[*last].next;
  if (free_ == kNone) {
    *last = static_cast<std::uint32_t>(halves_.size());
    halves_.push_back(half);  // `last` may lie in the memory that this replaces
    return;
  }
  const std::uint32_t at = free_;
  *last = at;
  free_ = halves_[at].next;
  halves_[at] = half;
}

const OpenMessages::Half* OpenMessages::first_half(int from, int to) const {
  const std::uint32_t at =
      first_[static_cast<std::size_t>(from) * ranks_ + static_cast<std::size_t>(to)];
  return at == kNone ? nullptr : &halves_[at];
}

std::string OpenMessages::of_rank(int rank) const {
  for (int other = 0; other < static_cast<int>(ranks_); ++other) {
    const Half* received = first_half(other, rank);
    if (received != nullptr && received->target != nullptr)
      return fmt::format("{} bytes from rank {}", received->bytes, other);
    const Half* sent = first_half(rank, other);
    if (sent != nullptr && sent->source != nullptr)
      return fmt::format("{} bytes to rank {}", sent->bytes, other);
  }
  return "";
}

}  // namespace lockstep
