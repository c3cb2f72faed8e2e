#include "core/engine/state_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "core/base/stream_copy.h"

namespace lockstep {
namespace {

/// The smallest number >= `from` that is `turn` modulo `interval`.
std::int64_t next_turn(std::int64_t from, std::int64_t turn, std::int64_t interval) {
  const std::int64_t wait = (turn - from) % interval;
  return from + (wait < 0 ? wait + interval : wait);
}

std::string list_of(const std::vector<std::size_t>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, " "));
}

/// The ranks grouped by their hash, the largest group first.
std::vector<std::vector<std::size_t>> groups_of(const std::vector<std::uint64_t>& hashes) {
  std::map<std::uint64_t, std::vector<std::size_t>> by_hash;
  for (std::size_t rank = 0; rank < hashes.size(); ++rank) by_hash[hashes[rank]].push_back(rank);
  std::vector<std::vector<std::size_t>> out;
  out.reserve(by_hash.size());
  for (auto& [hash, ranks] : by_hash) out.push_back(std::move(ranks));
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return a.size() != b.size() ? a.size() > b.size() : a[0] < b[0];
  });
  return out;
}

/// "rank 2 has another wte.weight than ranks 0 1 3"
std::string describe_groups(const std::vector<std::uint64_t>& hashes, std::string_view name) {
  const std::vector<std::vector<std::size_t>> groups = groups_of(hashes);
  std::vector<std::size_t> others;
  for (std::size_t i = 1; i < groups.size(); ++i)
    others.insert(others.end(), groups[i].begin(), groups[i].end());
  std::sort(others.begin(), others.end());
  if (groups[0].size() > others.size())
    return fmt::format("{} {} another {} than {}", list_of(others),
                       others.size() == 1 ? "has" : "have", name, list_of(groups[0]));
  std::vector<std::string> texts;
  texts.reserve(groups.size());
  for (const std::vector<std::size_t>& ranks : groups) texts.push_back(list_of(ranks));
  std::sort(texts.begin(), texts.end());
  return fmt::format("{} have different {}, and no majority shows which is right",
                     fmt::join(texts, ", "), name);
}

}  // namespace

StateSample::StateSample(std::span<const StatePiece> pieces, const StateTurn& turn,
                         std::shared_ptr<const void> names, ThreadPool& pool)
    : turn_(turn), names_(std::move(names)) {
  choose(pieces);
  hashes_.resize(blocks_.size());
  // Several blocks a task: one takes a few microseconds.
  constexpr std::int64_t kTask = 8;
  const auto count = static_cast<std::int64_t>(blocks_.size());
  pool.parallel_for((count + kTask - 1) / kTask, [&](std::int64_t task) {
    for (std::int64_t i = task * kTask; i < std::min(count, (task + 1) * kTask); ++i) {
      const Block& block = blocks_[static_cast<std::size_t>(i)];
      if (block.copy != nullptr) stream_copy(block.copy, block.data, block.bytes);
      hashes_[static_cast<std::size_t>(i)] = hash128(block.data, block.bytes).low;
    }
  });
  for (Block& block : blocks_) block.data = nullptr;
}

void StateSample::choose(std::span<const StatePiece> pieces) {
  std::int64_t begin = 0;  // number of the piece's first block
  for (const StatePiece& piece : pieces) {
    const std::int64_t stride = turn_.whole || piece.elements == 1 ? 1 : turn_.interval;
    const auto size = static_cast<std::int64_t>(size_of(piece.dtype));
    const std::int64_t end = begin + (piece.elements + kBlock - 1) / kBlock;
    for (std::int64_t b = next_turn(begin, turn_.step, stride); b < end; b += stride) {
      const std::int64_t first = (b - begin) * kBlock;
      const std::int64_t elements = std::min(kBlock, piece.elements - first);
      blocks_.push_back({piece.name, b, first, elements, piece.data + first * size,
                         piece.copy == nullptr ? nullptr : piece.copy + first * size,
                         static_cast<std::size_t>(elements * size), piece.elements == 1});
    }
    begin = end;
  }
}

Hash128 StateSample::digest() const {
  Hasher hasher;
  hasher.value(turn_.step);
  hasher.bytes(hashes_.data(), hashes_.size() * sizeof(std::uint64_t));
  return hasher.finish();
}

std::string StateSample::details() const {
  return {reinterpret_cast<const char*>(hashes_.data()), hashes_.size() * sizeof(std::uint64_t)};
}

std::int64_t StateSample::last_agreement(const Block& block) const {
  const std::int64_t before = turn_.step - 1;
  if (block.of_scalar) return std::max(before, turn_.last_whole);
  const std::int64_t turn = next_turn(before - turn_.interval + 1, block.number, turn_.interval);
  return std::max(turn, turn_.last_whole);
}

std::string StateSample::explain(std::span<const std::string> details) const {
  std::vector<std::vector<std::uint64_t>> ranks;
  for (const std::string& text : details) {
    if (text.size() != hashes_.size() * sizeof(std::uint64_t))
      return fmt::format("step {}: the ranks do not have tensors of the same sizes", turn_.step);
    ranks.emplace_back(hashes_.size());
    if (!text.empty()) std::memcpy(ranks.back().data(), text.data(), text.size());
  }
  const Block* first = nullptr;
  std::vector<std::uint64_t> hashes;
  std::size_t differing = 0;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    std::vector<std::uint64_t> of_block;
    of_block.reserve(ranks.size());
    for (const std::vector<std::uint64_t>& rank : ranks) of_block.push_back(rank[i]);
    if (std::equal(of_block.begin() + 1, of_block.end(), of_block.begin())) continue;
    ++differing;
    // A difference of a scalar usually follows from one of another tensor.
    if (first != nullptr && (!first->of_scalar || blocks_[i].of_scalar)) continue;
    first = &blocks_[i];
    hashes = std::move(of_block);
  }
  if (first == nullptr)
    return fmt::format("the ranks do not check the same step; here it is {}", turn_.step);
  const std::string more = differing == 1 ? "" : fmt::format(" and {} more blocks", differing - 1);
  return fmt::format(
      "the ranks' states differ at step {}: {} (elements {} to {}{}); they last agreed on it at "
      "step {}. A processor or memory may be at fault; resume from a checkpoint of that step or "
      "before",
      turn_.step, describe_groups(hashes, first->name), first->first,
      first->first + first->elements - 1, more, last_agreement(*first));
}

}  // namespace lockstep
