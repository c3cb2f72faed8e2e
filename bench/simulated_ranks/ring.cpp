#include "bench/simulated_ranks/ring.h"

#include <array>

#include "collectives/tree_sum.h"

namespace lockstep {

void ring_all_reduce(const Group& group, DType dtype, std::byte* data, std::int64_t count,
                     Scratch& scratch) {
  const int n = group.size();
  if (n == 1) return;
  const int next = (group.self() + 1) % n, previous = (group.self() + n - 1) % n;
  const std::size_t width = size_of(dtype);
  const auto slice = [&](int step) {  // counted backwards from the own one
    return slice_of(count, n, ((group.self() - step) % n + n) % n, width);
  };
  const auto memory = [&](Slice s) {
    return std::span(data + static_cast<std::size_t>(s.begin) * width,
                     static_cast<std::size_t>(s.size()) * width);
  };
  for (int step = 0; step < n - 1; ++step) {
    const std::span<std::byte> sum = memory(slice(step + 1));
    const std::span<std::byte> received(scratch.get(static_cast<std::int64_t>(sum.size())),
                                        sum.size());
    group.send(next, memory(slice(step)));
    group.receive(previous, received);
    group.finish();
    const std::array<const std::byte*, 2> operands = {received.data(), sum.data()};
    if (!sum.empty())
      tree_sum(dtype, operands, sum.data(), static_cast<std::int64_t>(sum.size() / width));
  }
  // This member has the sum of slice(n - 1), which is slice(-1).
  for (int step = 0; step < n - 1; ++step) {
    group.send(next, memory(slice(step - 1)));
    group.receive(previous, memory(slice(step)));
    group.finish();
  }
}

}  // namespace lockstep
