#include "collectives/shared_arena.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "collectives/algorithms.h"
#include "collectives/group.h"
#include "core/base/error.h"

namespace lockstep {
namespace {

// Small enough that the ranks' shares of a bucket are even; large enough that a view of many
// gigabytes stays far below the kernel's limit of 65,530 mappings. If each lane gets one of them, a
// stripe is a huge page: a core reads a view of smaller ones half as fast, and on a virtual machine
// without nested page tables the first read in each step took 20 times as long (44 MB: 30 ms).
std::size_t stripe_of(std::size_t bytes, int lanes) {
  constexpr std::size_t kSmallest = std::size_t{16} * 1024;
  const std::size_t stripe = std::max(kSmallest, std::bit_ceil(bytes / 1024));
  const bool huge = bytes >= static_cast<std::size_t>(lanes) * SharedFile::kHugePage;
  return huge ? std::max(stripe, SharedFile::kHugePage) : stripe;
}

/// A rank's message to the others: where its file is, or why there is none.
struct Invitation {
  std::int64_t process = 0;
  std::int32_t descriptor = -1;
  std::int32_t rank = -1;  ///< of the problem
  SharedFile::Id id;
  char problem[104] = {};

  void fail(const std::exception& e) { std::strncpy(problem, e.what(), sizeof problem - 1); }
  void add(const Invitation& later) {
    if (rank < 0) *this = later;
  }
};

/// The invitations of all ranks of the node.
std::vector<Invitation> tell_node(const Invitation& mine, const Group& node) {
  std::vector<Invitation> all(static_cast<std::size_t>(node.size()));
  all[static_cast<std::size_t>(node.self())] = mine;
  all_gather(node, reinterpret_cast<std::byte*>(all.data()), sizeof(Invitation));
  return all;
}

/// The problem of the lowest rank of the job that has one; empty if none does.
std::string first_problem(Invitation mine, const Group& job) {
  mine.rank = mine.problem[0] == '\0' ? -1 : job.rank(job.self());
  tree_add(job, mine);
  if (mine.rank < 0) return {};
  return fmt::format("rank {}: {}", mine.rank, mine.problem);
}

}  // namespace

std::size_t SharedRegion::rounded(std::size_t bytes, int lanes) {
  const std::size_t stripe = stripe_of(bytes, lanes);
  return std::max<std::size_t>((bytes + stripe - 1) / stripe, 1) * stripe;
}

SharedRegion::SharedRegion(const std::vector<SharedFile>& files, const Lanes& lanes,
                           std::size_t offset, std::size_t bytes)
    : offset_(offset),
      stripe_(stripe_of(bytes, lanes.count)),
      lanes_(lanes),
      own_(files[static_cast<std::size_t>(lanes.self)].map(offset, bytes, true)),
      view_(Mapping::reserve(bytes)) {
  for (const SharedFile& file : files) operands_.push_back(file.map(offset, bytes, false));
  for (std::size_t at = 0; at < bytes; at += stripe_) {
    const int lane = static_cast<int>(at / stripe_ % static_cast<std::size_t>(lanes.count));
    files[static_cast<std::size_t>(lanes.worker_of(lane))].replace(view_.data() + at, offset + at,
                                                                   stripe_);
  }
}

class SharedArena::Held final : public SharedBuffer {
 public:
  Held(std::shared_ptr<SharedArena> memory, SharedRegion& region, std::function<void()> interrupt)
      : memory_(std::move(memory)), region_(region), interrupt_(std::move(interrupt)) {}

  ~Held() override { memory_->release(region_); }

  std::byte* data() const override { return region_.data(); }
  const std::byte* sums() const override { return region_.sums(); }
  void wait_until_writable() override {
    memory_->flags_.wait_for_all(Progress::kRead, region_.sums_end, interrupt_);
  }

 private:
  std::shared_ptr<SharedArena> memory_;
  SharedRegion& region_;
  std::function<void()> interrupt_;
};

std::shared_ptr<SharedArena> SharedArena::connect(const Group& node, const Group& job, int lanes,
                                                  bool spin, std::string& problem) {
  std::optional<SharedFile> own;
  Invitation mine;
  try {
    own = SharedFile::create();
    own->grow(0, SharedFlags::bytes());
    mine.process = getpid();
    mine.descriptor = own->descriptor();
    mine.id = own->id();
  } catch (const Error& e) {
    mine.fail(e);
  }
  problem = first_problem(mine, job);
  if (!problem.empty()) return nullptr;

  std::vector<SharedFile> files;
  std::vector<Mapping> parts;
  std::vector<int> ranks;
  Invitation answer;
  const std::vector<Invitation> all = tell_node(mine, node);
  try {
    for (const Invitation& from : all) {
      ranks.push_back(node.rank(static_cast<int>(ranks.size())));
      files.push_back(from.id == mine.id
                          ? std::move(*own)
                          : SharedFile::open_of(from.process, from.descriptor, from.id));
      parts.push_back(files.back().map(0, SharedFlags::bytes(), true));
    }
  } catch (const Error& e) {
    answer.fail(e);
  }
  problem = first_problem(answer, job);
  if (!problem.empty()) return nullptr;
  return std::make_shared<SharedArena>(
      std::move(files), std::move(parts), std::move(ranks),
      Lanes{.count = lanes, .ranks = node.size(), .self = node.self()}, spin);
}

SharedArena::SharedArena(std::vector<SharedFile> files, std::vector<Mapping> parts,
                         std::vector<int> ranks, const Lanes& lanes, bool spin)
    : files_(std::move(files)),
      lanes_(lanes),
      flags_(std::move(parts), std::move(ranks), lanes.self, spin),
      end_(SharedFlags::bytes()) {}

std::unique_ptr<SharedBuffer> SharedArena::hold(std::size_t bytes,
                                                std::function<void()> interrupt) {
  LS_USER_CHECK(bytes > 0, "a shared buffer of 0 bytes was requested");
  const std::size_t size = SharedRegion::rounded(bytes, lanes_.count);
  SharedRegion* region = find_free(size);
  if (region == nullptr) {
    if (const auto oldest = take_oldest()) {
      flags_.wait_for_all(Progress::kRead, oldest->sums_end, interrupt);
      files_[static_cast<std::size_t>(lanes_.self)].free(oldest->offset(), oldest->bytes());
    }
    region = make(size);
  }
  return std::make_unique<Held>(shared_from_this(), *region, std::move(interrupt));
}

/// The region of this size, now held; null if there is none.
SharedRegion* SharedArena::find_free(std::size_t size) {
  const std::lock_guard lock(mutex_);
  for (const auto& region : regions_)
    LS_USER_CHECK(!region->held, "a rank holds one shared buffer at a time");
  const auto found =
      std::ranges::find(regions_, size, [](const auto& region) { return region->bytes(); });
  if (found == regions_.end()) return nullptr;
  std::rotate(found, found + 1, regions_.end());
  regions_.back()->held = true;
  return regions_.back().get();
}

/// The region to remove before another one is made; null if there is room. The same on all ranks.
std::unique_ptr<SharedRegion> SharedArena::take_oldest() {
  const std::lock_guard lock(mutex_);
  if (regions_.size() < kSizes) return nullptr;
  auto out = std::move(regions_.front());
  regions_.erase(regions_.begin());
  return out;
}

SharedRegion* SharedArena::make(std::size_t size) {
  constexpr std::size_t kHugePage = SharedFile::kHugePage;
  const std::lock_guard lock(mutex_);
  if (size >= kHugePage) end_ = (end_ + kHugePage - 1) / kHugePage * kHugePage;
  files_[static_cast<std::size_t>(lanes_.self)].grow(end_, size);
  regions_.push_back(std::make_unique<SharedRegion>(files_, lanes_, end_, size));
  end_ += size;
  regions_.back()->held = true;
  return regions_.back().get();
}

SharedRegion* SharedArena::find(const std::byte* data) {
  const std::lock_guard lock(mutex_);
  for (const auto& region : regions_)
    if (region->holds(data)) return region.get();
  return nullptr;
}

void SharedArena::release(SharedRegion& region) {
  const std::lock_guard lock(mutex_);
  region.held = false;
  if (region.sums_end <= read_) return;
  read_ = region.sums_end;
  flags_.advance(Progress::kRead, read_);
}

}  // namespace lockstep
