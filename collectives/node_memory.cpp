#include "collectives/node_memory.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "collectives/direct_exchange.h"
#include "collectives/transport.h"
#include "collectives/tree_sum.h"
#include "core/base/error.h"

namespace lockstep {
namespace {

// Small enough that the ranks' shares of a bucket are even, large enough that a view of many
// gigabytes stays far below the kernel's limit of 65,530 mappings.
std::size_t stripe_of(std::size_t bytes) {
  constexpr std::size_t kSmallest = 16 * 1024;
  return std::max(kSmallest, std::bit_ceil(bytes / 1024));
}

/// What a rank tells the others: where its file is, or why there is none.
struct Invitation {
  std::int64_t process = 0;
  std::int32_t descriptor = -1;
  SharedFile::Id id;
  char problem[104] = {};

  void fail(const std::exception& e) { std::strncpy(problem, e.what(), sizeof problem - 1); }
};

/// The invitations, or problems, of all ranks.
std::vector<Invitation> tell_all(const Invitation& mine, const Transport& transport,
                                 DirectExchange& exchange) {
  std::vector<Invitation> all(static_cast<std::size_t>(transport.size()));
  all[static_cast<std::size_t>(transport.rank())] = mine;
  exchange.all_gather(reinterpret_cast<std::byte*>(all.data()), sizeof(Invitation));
  return all;
}

std::string first_problem(const std::vector<Invitation>& all) {
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank].problem[0] != '\0') return fmt::format("rank {}: {}", rank, all[rank].problem);
  return {};
}

}  // namespace

std::size_t SharedRegion::rounded(std::size_t bytes) {
  const std::size_t stripe = stripe_of(bytes);
  return std::max<std::size_t>((bytes + stripe - 1) / stripe, 1) * stripe;
}

SharedRegion::SharedRegion(const std::vector<SharedFile>& files, int rank, std::size_t place,
                           std::size_t bytes)
    : place_(place),
      stripe_(stripe_of(bytes)),
      rank_(rank),
      own_(files[static_cast<std::size_t>(rank)].map(place, bytes, true)),
      view_(Mapping::reserve(bytes)) {
  for (const SharedFile& file : files) operands_.push_back(file.map(place, bytes, false));
  for (std::size_t at = 0; at < bytes; at += stripe_)
    files[at / stripe_ % files.size()].replace(view_.data() + at, place + at, stripe_);
}

void SharedRegion::sum(DType dtype, std::size_t offset, std::int64_t count) const {
  const std::size_t width = size_of(dtype);
  const std::size_t end = offset + static_cast<std::size_t>(count) * width;
  const std::size_t ranks = operands_.size();
  const auto rank = static_cast<std::size_t>(rank_);
  std::vector<const std::byte*> operands(ranks);
  const std::size_t first = offset / stripe_;
  for (std::size_t stripe = first + (rank + ranks - first % ranks) % ranks; stripe * stripe_ < end;
       stripe += ranks) {
    const std::size_t from = std::max(offset, stripe * stripe_);
    const std::size_t to = std::min(end, (stripe + 1) * stripe_);
    for (std::size_t i = 0; i < ranks; ++i) operands[i] = operands_[i].data() + from;
    operands[rank] = own_.data() + from;
    tree_sum(dtype, operands, own_.data() + from, static_cast<std::int64_t>((to - from) / width));
  }
}

class NodeMemory::Held final : public SharedBuffer {
 public:
  Held(std::shared_ptr<NodeMemory> memory, SharedRegion& region, std::function<void()> interrupt)
      : memory_(std::move(memory)), region_(region), interrupt_(std::move(interrupt)) {}

  ~Held() override { memory_->release(region_); }

  std::byte* data() const override { return region_.data(); }
  const std::byte* sums() const override { return region_.sums(); }
  void wait_until_writable() override {
    memory_->board_.wait_for_all(Progress::kRead, region_.sums_end, interrupt_);
  }

 private:
  std::shared_ptr<NodeMemory> memory_;
  SharedRegion& region_;
  std::function<void()> interrupt_;
};

std::shared_ptr<NodeMemory> NodeMemory::connect(Transport& transport, DirectExchange& exchange,
                                                bool spin, std::string& problem) {
  std::optional<SharedFile> own;
  Invitation mine;
  try {
    own = SharedFile::create();
    own->grow(0, NodeBoard::bytes());
    mine.process = getpid();
    mine.descriptor = own->descriptor();
    mine.id = own->id();
  } catch (const Error& e) {
    mine.fail(e);
  }
  const std::vector<Invitation> all = tell_all(mine, transport, exchange);
  problem = first_problem(all);
  if (!problem.empty()) return nullptr;

  std::vector<SharedFile> files;
  std::vector<Mapping> parts;
  Invitation answer;
  try {
    for (const Invitation& from : all) {
      files.push_back(from.id == mine.id
                          ? std::move(*own)
                          : SharedFile::open_of(from.process, from.descriptor, from.id));
      parts.push_back(files.back().map(0, NodeBoard::bytes(), true));
    }
  } catch (const Error& e) {
    answer.fail(e);
  }
  problem = first_problem(tell_all(answer, transport, exchange));
  if (!problem.empty()) return nullptr;
  return std::make_shared<NodeMemory>(std::move(files), std::move(parts), transport.rank(), spin);
}

NodeMemory::NodeMemory(std::vector<SharedFile> files, std::vector<Mapping> parts, int rank,
                       bool spin)
    : files_(std::move(files)),
      rank_(rank),
      board_(std::move(parts), rank, spin),
      end_(NodeBoard::bytes()) {}

std::unique_ptr<SharedBuffer> NodeMemory::hold(std::size_t bytes, std::function<void()> interrupt) {
  const std::size_t size = SharedRegion::rounded(bytes);
  const std::lock_guard lock(mutex_);
  SharedRegion* region = nullptr;
  for (const auto& r : regions_) {
    LS_USER_CHECK(!r->held, "a rank holds one shared buffer at a time");
    if (r->bytes() == size) region = r.get();
  }
  if (region == nullptr) {
    files_[static_cast<std::size_t>(rank_)].grow(end_, size);
    regions_.push_back(std::make_unique<SharedRegion>(files_, rank_, end_, size));
    end_ += size;
    region = regions_.back().get();
  }
  region->held = true;
  return std::make_unique<Held>(shared_from_this(), *region, std::move(interrupt));
}

SharedRegion* NodeMemory::find(const std::byte* data) {
  const std::lock_guard lock(mutex_);
  for (const auto& region : regions_)
    if (region->holds(data)) return region.get();
  return nullptr;
}

void NodeMemory::release(SharedRegion& region) {
  const std::lock_guard lock(mutex_);
  region.held = false;
  if (region.sums_end <= read_) return;
  read_ = region.sums_end;
  board_.advance(Progress::kRead, read_);
}

}  // namespace lockstep
