#include "core/runtime/allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <list>
#include <new>

#include "core/base/error.h"
#include "core/base/metrics.h"

namespace lockstep {
namespace {

constexpr std::size_t kListed = 10;

constexpr std::size_t kHugePage = 2 << 20;

/// Large blocks start at huge pages: a step reads all of them, and with 4 KiB pages would miss the
/// TLB.
std::align_val_t alignment_of(std::size_t size) {
  return std::align_val_t{size >= kHugePage ? kHugePage : Buffer::kAlignment};
}

}  // namespace

// Shared with the buffers, which return their memory to it when they are destroyed.
struct Allocator::State : std::enable_shared_from_this<Allocator::State> {
  State(std::size_t limit, std::size_t host) : limit(limit), host(host) {}
  ~State() { drop_cache(); }

  struct FreeBlock {
    std::byte* data;
    std::size_t size;
  };
  using FreeBlocks = std::list<FreeBlock>;
  using FreeBySize = std::multimap<std::size_t, FreeBlocks::iterator>;

  /// A block with the list nodes that are needed to put it in the cache: blocks are returned in
  /// destructors, where nothing may be allocated.
  struct Taken {
    std::byte* data = nullptr;
    FreeBlocks by_age;  ///< one
    FreeBySize::node_type by_size;
  };

  /// The result has no data if the host has no memory left.
  Taken take(std::size_t size) {
    const auto cached = free_by_size.find(size);
    if (cached != free_by_size.end()) return forget(cached);
    FreeBySize node;
    FreeBlocks block{{nullptr, size}};
    node.emplace(size, block.begin());
    Taken out{nullptr, std::move(block), node.extract(node.begin())};
    make_room(size);
    out.data = take_from_host(size);
    if (out.data == nullptr) {
      drop_cache();
      out.data = take_from_host(size);
    }
    out.by_age.front().data = out.data;
    return out;
  }

  /// Freed blocks of other sizes are memory too. They never make the device take more host memory
  /// than the maximum that was live at once, and so never more than the limit.
  void make_room(std::size_t size) {
    const std::size_t live_bytes = used - reserved;
    const std::size_t bound = std::max(peak, live_bytes + size);
    while (live_bytes + cached_bytes + size > bound) release_oldest();
  }

  static std::byte* take_from_host(std::size_t size) {
    auto* data = static_cast<std::byte*>(::operator new(size, alignment_of(size), std::nothrow));
    // Advice only: if huge pages are disabled nothing changes, so a refusal is not an error.
    if (data != nullptr && size >= kHugePage)
      (void)madvise(data, size / kHugePage * kHugePage, MADV_HUGEPAGE);
    return data;
  }

  void give_back(Taken& block) {
    const std::lock_guard lock(mutex);
    live.erase(block.data);
    used -= block.by_size.key();
    keep(block);
  }

  void keep(Taken& block) {
    cached_bytes += block.by_size.key();
    free_by_age.splice(free_by_age.end(), block.by_age);
    free_by_size.insert(std::move(block.by_size));
  }

  void release_oldest() {
    const FreeBlock oldest = free_by_age.front();
    auto entry = free_by_size.find(oldest.size);
    while (entry->second != free_by_age.begin()) ++entry;
    (void)forget(entry);
    ::operator delete(oldest.data, alignment_of(oldest.size));
  }

  void drop_cache() {
    while (!free_by_age.empty()) release_oldest();
  }

  void count(const std::byte* key, std::size_t size, AllocationLabel label) {
    live.emplace(key, Block{size, std::move(label)});
    used += size;
    peak = std::max(peak, used);
  }

  /// Makes a taken block a buffer of `bytes`.
  BufferPtr counted(Taken block, std::size_t bytes, std::size_t size, AllocationLabel label) {
    std::byte* data = block.data;
    auto held = std::make_shared<Taken>(std::move(block));
    count(data, size, std::move(label));
    return std::make_shared<Buffer>(
        data, bytes, MemorySpace::kDevice,
        [state = shared_from_this(), held](std::byte*, std::size_t) { state->give_back(*held); });
  }

  void uncount(const std::byte* key, std::size_t size) {
    const std::lock_guard lock(mutex);
    live.erase(key);
    used -= size;
  }

  void check_limit(std::size_t size, const AllocationLabel& label) const {
    if (limit > 0 && used + size > limit) fail_at_limit(size, label);
    // The system would grant more than it has, and kill the process when the memory is written.
    if (host > 0 && used + size > host) fail_at_host(size, label);
  }

  [[noreturn]] void fail_at_limit(std::size_t size, const AllocationLabel& label) const {
    raise(ErrorKind::kOutOfMemory,
          "device out of memory: {} for {} on top of {} in use exceeds the limit of {} "
          "(device.memory_gb); lower training.micro_batch_size or raise the limit, --dry-run shows "
          "what "
          "a step needs; the largest live tensors are:{}",
          format_bytes(static_cast<double>(size)), label, format_bytes(static_cast<double>(used)),
          format_bytes(static_cast<double>(limit)), list_largest());
  }

  [[noreturn]] void fail_at_host(std::size_t size, const AllocationLabel& label) const {
    raise(ErrorKind::kOutOfMemory,
          "the host has no memory left for the device's: {} for {} on top of {} in use "
          "(device.memory_gb may be more than the host has); lower training.micro_batch_size, run "
          "fewer "
          "ranks on this machine, or stop other programs on it; the largest live tensors are:{}",
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
    entries.reserve(live.size());
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
  /// A cached block is in use again, or gone.
  Taken forget(FreeBySize::iterator entry) {
    Taken out{.data = entry->second->data, .by_age = {}, .by_size = {}};
    cached_bytes -= entry->first;
    out.by_age.splice(out.by_age.end(), free_by_age, entry->second);
    out.by_size = free_by_size.extract(entry);
    return out;
  }

  std::mutex mutex;
  std::size_t limit;
  std::size_t host;
  std::size_t used = 0;
  std::size_t reserved = 0;  ///< the part of `used` that no block has
  std::size_t peak = 0;
  std::size_t cached_bytes = 0;
  std::map<const std::byte*, Block> live;
  FreeBlocks free_by_age;  ///< freed first comes first
  FreeBySize free_by_size;
};

Allocator::Allocator(std::size_t limit_bytes, std::size_t host_bytes)
    : state_(std::make_shared<State>(limit_bytes, host_bytes)) {}

Allocator::~Allocator() = default;

std::size_t Allocator::block_bytes(std::size_t bytes) {
  constexpr std::size_t kLarge = 1 << 20;
  const std::size_t unit = bytes >= kLarge ? 1 << 16 : Buffer::kAlignment;
  return std::max<std::size_t>((bytes + unit - 1) / unit, 1) * unit;
}

BufferPtr Allocator::allocate(std::size_t bytes, AllocationLabel label) {
  const std::size_t size = block_bytes(bytes);
  const std::lock_guard lock(state_->mutex);
  State& s = *state_;
  s.check_limit(size, label);
  State::Taken block = s.take(size);
  if (block.data == nullptr) s.fail_at_host(size, label);
  return s.counted(std::move(block), bytes, size, std::move(label));
}

/// The accounting of adopted memory, from before it exists until it is released.
struct Allocator::Adopted {
  Adopted(std::shared_ptr<State> state_, std::size_t size_, AllocationLabel label)
      : state(std::move(state_)), size(size_) {
    const std::lock_guard lock(state->mutex);
    state->check_limit(size, label);
    state->make_room(size);
    state->count(key(), size, std::move(label));
  }
  ~Adopted() {
    memory.reset();
    state->uncount(key(), size);
  }
  Adopted(const Adopted&) = delete;
  Adopted& operator=(const Adopted&) = delete;

  const std::byte* key() const { return reinterpret_cast<const std::byte*>(this); }

  std::shared_ptr<State> state;
  std::size_t size;
  std::shared_ptr<std::byte> memory;
};

BufferPtr Allocator::adopt(std::size_t bytes, AllocationLabel label,
                           const std::function<std::shared_ptr<std::byte>()>& source) {
  auto adopted = std::make_shared<Adopted>(state_, block_bytes(bytes), std::move(label));
  adopted->memory = source();
  if (adopted->memory == nullptr) return nullptr;
  std::byte* data = adopted->memory.get();
  return std::make_shared<Buffer>(
      data, bytes, MemorySpace::kDevice,
      [held = std::move(adopted)](std::byte*, std::size_t) mutable { held.reset(); });
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

std::size_t Allocator::cached_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->cached_bytes;
}

// Shared with the blocks. In the list of live blocks it stands for all of them.
struct Reservation::Room {
  ~Room() {
    const std::lock_guard lock(state->mutex);
    state->used -= size;
    state->reserved -= size - taken;
    state->live.erase(key());
  }

  const std::byte* key() const { return reinterpret_cast<const std::byte*>(this); }
  bool has(std::size_t bytes) const { return size - taken >= bytes; }
  void take(std::size_t bytes) {
    taken += bytes;
    state->reserved -= bytes;
  }
  void give_back(Allocator::State::Taken& block) {
    const std::lock_guard lock(state->mutex);
    taken -= block.by_size.key();
    state->reserved += block.by_size.key();
    state->keep(block);
  }

  std::shared_ptr<Allocator::State> state;
  AllocationLabel label;
  std::size_t size = 0;
  std::size_t taken = 0;
};

Reservation::Reservation(const Allocator& allocator, AllocationLabel label)
    : room_(std::make_shared<Room>(allocator.state_, std::move(label))) {}

void Reservation::grow_to(std::size_t bytes) {
  Allocator::State& s = *room_->state;
  const std::lock_guard lock(s.mutex);
  if (bytes <= room_->size) return;
  const std::size_t more = bytes - room_->size;
  s.check_limit(more, room_->label);
  room_->size = bytes;
  s.used += more;
  s.reserved += more;
  s.peak = std::max(s.peak, s.used);
  s.live.insert_or_assign(room_->key(), Allocator::State::Block{bytes, room_->label});
}

BufferPtr Reservation::allocate(std::size_t bytes, AllocationLabel label) {
  const std::size_t size = Allocator::block_bytes(bytes);
  Allocator::State& s = *room_->state;
  const std::lock_guard lock(s.mutex);
  const bool has_room = room_->has(size);
  if (!has_room) s.check_limit(size, label);
  Allocator::State::Taken block = s.take(size);
  if (block.data == nullptr) s.fail_at_host(size, label);
  if (!has_room) return s.counted(std::move(block), bytes, size, std::move(label));
  std::byte* data = block.data;
  auto held = std::make_shared<Allocator::State::Taken>(std::move(block));
  room_->take(size);
  return std::make_shared<Buffer>(
      data, bytes, MemorySpace::kDevice,
      [room = room_, held](std::byte*, std::size_t) { room->give_back(*held); });
}

}  // namespace lockstep
