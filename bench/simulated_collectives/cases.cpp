#include "bench/simulated_collectives/cases.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

#include "bench/simulated_ranks/ring.h"
#include "bench/simulated_ranks/simulate.h"
#include "collectives/algorithms.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/reduce_tree.h"

namespace lockstep {
namespace {

// Of tree_combine's values, and of gather_strings' strings.
constexpr std::int64_t kValueBytes = 1024;
constexpr std::int64_t kStringBytes = 64;
// Longer buffers are broadcast by a scatter and a gather (collectives/algorithms.cpp).
constexpr std::int64_t kBroadcastAtOnceBytes = std::int64_t{64} * 1024;

/// The memory that all ranks of a case share.
struct SharedMemory {
  explicit SharedMemory(std::int64_t bytes) : data(static_cast<std::size_t>(bytes)) {}
  std::vector<std::byte> data;
  Scratch scratch;
};

/// Operands of any number of parts, and the sum, in one place.
class OnePlace final : public Addends {
 public:
  explicit OnePlace(std::byte* data) : data_(data) {}
  const std::byte* part(int, Slice elements) override { return result(elements); }
  std::byte* result(Slice elements) override {
    return data_ + elements.begin * static_cast<std::int64_t>(sizeof(float));
  }
  void store(Slice) override {}

 private:
  std::byte* data_;
};

class Formulas {
 public:
  Formulas(int ranks, const LinkLimits& links)
      : ranks_(ranks),
        rounds_(std::bit_width(static_cast<unsigned>(ranks)) - 1),
        latency_ns_(static_cast<double>(links.latency_ns)),
        ns_per_byte_(1e9 / links.bytes_per_s) {}

  /// Each rank sends (c + 1) N (n - 1) / n bytes in c + 1 messages to each other one for each
  /// piece, in one phase more than there are pieces.
  ExpectedTraffic direct_exchange(std::int64_t bytes, std::int64_t parts) const {
    const auto width = static_cast<std::int64_t>(sizeof(float));
    const std::int64_t piece = piece_elements(static_cast<int>(ranks_), DType::kF32) * width;
    const std::int64_t pieces = (bytes + piece - 1) / piece;
    const std::int64_t sent = (parts + 1) * bytes * (ranks_ - 1);
    return {sent, (parts + 1) * pieces * ranks_ * (ranks_ - 1),
            ns(pieces + 1, static_cast<double>(sent) / static_cast<double>(ranks_))};
  }

  ExpectedTraffic ring(std::int64_t bytes) const {
    const std::int64_t sent = 2 * bytes * (ranks_ - 1);
    const std::int64_t steps = 2 * (ranks_ - 1);
    return {sent, steps * ranks_,
            ns(steps, static_cast<double>(sent) / static_cast<double>(ranks_))};
  }

  /// log2(n) rounds towards the root, and as many back.
  ExpectedTraffic tree(std::int64_t bytes) const {
    const std::int64_t messages = 2 * (ranks_ - 1);
    return {messages * bytes, messages, ns(2 * rounds_, static_cast<double>(2 * rounds_ * bytes))};
  }

  ExpectedTraffic broadcast(std::int64_t bytes) const {
    const std::int64_t sent = bytes * (ranks_ - 1);
    if (ranks_ == 2 || bytes <= kBroadcastAtOnceBytes)
      return {sent, ranks_ - 1, ns(1, static_cast<double>(sent))};
    // The root sends slices, which then go to each rank but the root.
    return {sent, ranks_ * (ranks_ - 1),
            ns(2, 2 * static_cast<double>(sent) / static_cast<double>(ranks_))};
  }

  /// Strings go with 8 bytes for their lengths, in a message behind one of 8 bytes; a rank waits
  /// for the one before it asks for the other.
  ExpectedTraffic strings(std::int64_t bytes) const {
    const std::int64_t length = 8, packed = bytes + length, edges = ranks_ - 1;
    const std::int64_t up = packed * ranks_ * rounds_ / 2, down = packed * ranks_ * edges;
    const std::int64_t on_longest_path =
        2 * rounds_ * length + packed * (ranks_ - 1) + packed * ranks_ * rounds_;
    return {up + down + 2 * edges * length, 4 * edges,
            ns(4 * rounds_, static_cast<double>(on_longest_path))};
  }

 private:
  double ns(std::int64_t latencies, double bytes) const {
    return static_cast<double>(latencies) * latency_ns_ + bytes * ns_per_byte_;
  }

  std::int64_t ranks_;
  std::int64_t rounds_;
  double latency_ns_;
  double ns_per_byte_;
};

using Run = std::function<void(const Group&)>;

Run direct_exchange_run(int ranks, int parts, std::int64_t bytes) {
  const auto leaves =
      std::make_shared<const Leaves>(static_cast<std::size_t>(ranks),
                                     std::vector<std::int64_t>(static_cast<std::size_t>(parts), 1));
  const auto memory = std::make_shared<SharedMemory>(bytes);
  return [leaves, memory, bytes](const Group& group) {
    OnePlace addends(memory->data.data());
    all_reduce(group, *leaves, DType::kF32, bytes / static_cast<std::int64_t>(sizeof(float)),
               addends, memory->scratch);
  };
}

Run ring_run(std::int64_t bytes) {
  const auto memory = std::make_shared<SharedMemory>(bytes);
  return [memory, bytes](const Group& group) {
    ring_all_reduce(group, DType::kF32, memory->data.data(),
                    bytes / static_cast<std::int64_t>(sizeof(float)), memory->scratch);
  };
}

Run tree_run() {
  const auto memory = std::make_shared<SharedMemory>(kValueBytes);
  return [memory](const Group& group) { tree_combine(group, memory->data, memory->data, [] {}); };
}

Run broadcast_run(std::int64_t bytes) {
  const auto memory = std::make_shared<SharedMemory>(bytes);
  return [memory, bytes](const Group& group) { broadcast(group, memory->data.data(), bytes, 0); };
}

/// Element k of a rank: from 2^-8 to 2^8 in magnitude, so that another order has other sums.
float sample_operand(int rank, std::int64_t k) {
  const std::uint64_t bits =
      hash64({static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(k)});
  const float unit = static_cast<float>(bits >> 48) * 0x1p-16F + 0.5F;
  return std::ldexp((bits & 1) != 0 ? unit : -unit, static_cast<int>(bits >> 1 & 15) - 8);
}

std::vector<float> sample_operands(int rank, std::int64_t count) {
  std::vector<float> out(static_cast<std::size_t>(count));
  for (std::int64_t k = 0; k < count; ++k)
    out[static_cast<std::size_t>(k)] = sample_operand(rank, k);
  return out;
}

}  // namespace

const std::vector<std::string>& collective_names() {
  static const std::vector<std::string> names = {"all_reduce",   "all_reduce_2", "ring",
                                                 "tree_combine", "broadcast",    "gather_strings"};
  return names;
}

CollectiveCase collective_case(const std::string& name, int ranks, std::int64_t bytes,
                               const LinkLimits& links) {
  const Formulas formulas(ranks, links);
  const auto without_data = [&](std::int64_t length, Run run, ExpectedTraffic expected) {
    return CollectiveCase{name, length, false, std::move(run), expected};
  };
  if (name == "all_reduce")
    return without_data(bytes, direct_exchange_run(ranks, 1, bytes),
                        formulas.direct_exchange(bytes, 1));
  if (name == "all_reduce_2")
    return without_data(bytes, direct_exchange_run(ranks, 2, bytes),
                        formulas.direct_exchange(bytes, 2));
  if (name == "ring") return without_data(bytes, ring_run(bytes), formulas.ring(bytes));
  if (name == "tree_combine")
    return without_data(kValueBytes, tree_run(), formulas.tree(kValueBytes));
  if (name == "broadcast")
    return without_data(bytes, broadcast_run(bytes), formulas.broadcast(bytes));
  if (name == "gather_strings")
    return {name, kStringBytes, true,
            [](const Group& group) { gather_strings(group, std::string(kStringBytes, 'x')); },
            formulas.strings(kStringBytes)};
  raise(ErrorKind::kUsage, "--collectives: '{}' is not one of {}", name,
        fmt::join(collective_names(), ", "));
}

bool sums_are_those_of_the_tree(int ranks, std::int64_t count, const LinkLimits& links) {
  const std::vector<float> want = tree_reduce(
      0, ranks, [&](std::int64_t rank) { return sample_operands(static_cast<int>(rank), count); },
      [](std::vector<float> a, const std::vector<float>& b) {
        std::transform(a.begin(), a.end(), b.begin(), a.begin(), std::plus<>());
        return a;
      });
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  const std::function<void()> no_interrupt = [] {};
  const Leaves leaves(all.size(), {1});
  bool equal = true;
  simulate({.ranks = ranks, .links = links}, [&](Transport& transport) {
    std::vector<float> data = sample_operands(transport.topology().rank(), count);
    OnePlace addends(reinterpret_cast<std::byte*>(data.data()));
    Scratch scratch;
    all_reduce(Group(transport, all, no_interrupt), leaves, DType::kF32, count, addends, scratch);
    equal = equal && std::memcmp(data.data(), want.data(), data.size() * sizeof(float)) == 0;
  });
  return equal;
}

}  // namespace lockstep
