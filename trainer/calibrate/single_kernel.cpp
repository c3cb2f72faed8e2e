#include "trainer/calibrate/single_kernel.h"

#include <cstring>
#include <utility>

#include "core/kernels/plan_kernel.h"

namespace lockstep {
namespace {

/// Bits that are numbers of either sign in [1/2, 1) as f32 and as two of bf16, in [1, 2) as two of
/// f16, drawn by xorshift: constant memory would need less power than training does.
void fill(const BufferPtr& buffer, std::uint32_t seed) {
  std::uint32_t random = 2463534242U + seed;
  const std::size_t words = buffer->bytes() / sizeof random;
  for (std::size_t i = 0; i < words; ++i) {
    random ^= random << 13;
    random ^= random >> 17;
    random ^= random << 5;
    const std::uint32_t bits = (random & 0x807F807FU) | 0x3F003F00U;
    std::memcpy(buffer->data() + i * sizeof bits, &bits, sizeof bits);
  }
}

}  // namespace

SingleKernel::SingleKernel(Op op, std::span<const Type> operands, Attrs attrs, const Target& target,
                           int threads)
    : pool_(threads) {
  flush_denormals();
  Graph graph;
  std::vector<ValueId> ids;
  for (const Type& type : operands) {
    ids.push_back(graph.add_input(type, InputKind::kState, "x"));
    operands_.push_back(allocate_host((type.bytes() + 3) / 4 * 4));
    fill(operands_.back(), static_cast<std::uint32_t>(ids.size()));
    pointers_.push_back(operands_.back()->data());
  }
  const ValueId id = graph.add(op, ids, std::move(attrs));
  kernel_ = make_kernel(graph[id], operands, target);
  result_ = allocate_host(graph[id].type.bytes());
  scratch_ = allocate_host(kernel_->scratch_bytes());
}

void SingleKernel::run() {
  std::byte* results[] = {result_->data()};
  kernel_->run({pointers_, results, scratch_->data(), pool_});
}

}  // namespace lockstep
