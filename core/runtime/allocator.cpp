#include "core/runtime/allocator.h"

#include <algorithm>
#include <new>

#include "core/base/error.h"
#include "core/base/metrics.h"

namespace lockstep {
namespace {

constexpr std::size_t kListed = 10;

std::size_t rounded_size(std::size_t bytes) {
  constexpr std::size_t kLarge = 1 << 20;
  const std::size_t unit = bytes >= kLarge ? 1 << 16 : Buffer::kAlignment;
  return std::max<std::size_t>((bytes + unit - 1) / unit, 1) * unit;
}

}  // namespace

// Shared with the buffers, which give their memory back to it whenever they die.
struct Allocator::State {
  explicit State(std::size_t limit) : limit(limit) {}
  ~State() { drop_cache(); }

  /// Null if the host has no memory left.
  std::byte* take(std::size_t size) {
    const auto cached = free_blocks.find(size);
    if (cached != free_blocks.end()) {
      std::byte* data = cached->second;
      free_blocks.erase(cached);
      cached_bytes -= size;
      return data;
    }
    // Freed blocks of other sizes count as memory too: give them up before passing the limit.
    if (limit > 0 && used + cached_bytes + size > limit) drop_cache();
    std::byte* data = take_from_host(size);
    if (data == nullptr) {
      drop_cache();
      data = take_from_host(size);
    }
    return data;
  }

  static std::byte* take_from_host(std::size_t size) {
    return static_cast<std::byte*>(
        ::operator new (size, std::align_val_t{Buffer::kAlignment}, std::nothrow));
  }

  void give_back(std::byte* data, std::size_t size) {
    const std::lock_guard lock(mutex);
    live.erase(data);
    used -= size;
    free_blocks.emplace(size, data);
    cached_bytes += size;
  }

  void drop_cache() {
    for (const auto& [size, data] : free_blocks)
      ::operator delete (data, std::align_val_t{Buffer::kAlignment});
    free_blocks.clear();
    cached_bytes = 0;
  }

  [[noreturn]] void fail_at_limit(std::size_t size, const AllocationLabel& label) const {
    raise(ErrorKind::kOutOfMemory,
          "device out of memory: {} for {} on top of {} in use passes the limit of {} "
          "(device.memory_gb); the largest live tensors are:{}",
          format_bytes(static_cast<double>(size)), label, format_bytes(static_cast<double>(used)),
          format_bytes(static_cast<double>(limit)), list_largest());
  }

  [[noreturn]] void fail_at_host(std::size_t size, const AllocationLabel& label) const {
    raise(ErrorKind::kOutOfMemory,
          "the host has no memory left for the device's: {} for {} on top of {} in use "
          "(device.memory_gb may promise more than there is); the largest live tensors are:{}",
          format_bytes(static_cast<double>(size)), label, format_bytes(static_cast<double>(used)),
          list_largest());
  }

  /// The largest live blocks, a line each.
  std::string list_largest() const {
    struct Entry {
      std::size_t bytes;
      const AllocationLabel* label;
    };
    std::vector<Entry> entries;
    for (const auto& [data, block] : live) entries.push_back({block.size, &block.label});
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return a.bytes != b.bytes ? a.bytes > b.bytes : *a.label < *b.label;
    });
    std::string out;
    for (std::size_t i = 0; i < std::min(entries.size(), kListed); ++i)
      out += fmt::format("\n  {:>10}  {}", format_bytes(static_cast<double>(entries[i].bytes)),
                         *entries[i].label);
    if (entries.size() > kListed) out += fmt::format("\n  and {} more", entries.size() - kListed);
    return out;
  }

  struct Block {
    std::size_t size;
    AllocationLabel label;
  };
  std::mutex mutex;
  std::size_t limit;
  std::size_t used = 0;
  std::size_t peak = 0;
  std::size_t cached_bytes = 0;
  std::map<const std::byte*, Block> live;
  std::multimap<std::size_t, std::byte*> free_blocks;
};

Allocator::Allocator(std::size_t limit_bytes) : state_(std::make_shared<State>(limit_bytes)) {}

Allocator::~Allocator() = default;

BufferPtr Allocator::allocate(std::size_t bytes, AllocationLabel label) {
  const std::size_t size = rounded_size(bytes);
  const std::lock_guard lock(state_->mutex);
  State& s = *state_;
  if (s.limit > 0 && s.used + size > s.limit) s.fail_at_limit(size, label);
  std::byte* data = s.take(size);
  if (data == nullptr) s.fail_at_host(size, label);
  s.used += size;
  s.peak = std::max(s.peak, s.used);
  s.live.emplace(data, State::Block{size, std::move(label)});
  return std::make_shared<Buffer>(
      data, bytes, MemorySpace::kDevice,
      [state = state_, size](std::byte* p, std::size_t) { state->give_back(p, size); });
}

std::size_t Allocator::limit_bytes() const {
  return state_->limit;
}

std::size_t Allocator::used_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->used;
}

std::size_t Allocator::peak_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->peak;
}

}  // namespace lockstep
