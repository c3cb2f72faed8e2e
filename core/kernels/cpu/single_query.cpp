#include "core/kernels/cpu/single_query.h"

#include <algorithm>
#include <vector>

#include "core/kernels/base/grid.h"
#include "core/kernels/cpu/attention_loops.h"
#include "core/kernels/cpu/attention_tile.h"
#include "core/kernels/cpu/base/scratch_slots.h"
#include "core/kernels/cpu/base/vector_loops.h"
#include "core/kernels/cpu/product/few_rows_loops.h"

namespace lockstep {
namespace {

using attention::Extras;
using attention::Problem;

/// Elements of keys of a task: the maximum, so that their scores stay in the second-level cache,
/// and the minimum if threads divide a sample's heads.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 22;
constexpr std::int64_t kMinTaskElements = std::int64_t{1} << 16;
constexpr std::int64_t kMinKeys = 16;

/// A unit is a run of heads of keys and values of one sample, whose parts of a key are contiguous.
class SingleQueryKernel final : public Kernel {
 public:
  SingleQueryKernel(const Problem& problem, const Target& target)
      : p_(problem),
        loops_(few_rows_loops(target.isa)),
        vectors_(loops_for(target.isa)),
        softmax_(attention_loops(target, DType::kF32).softmax),
        max_heads_(heads_of(kMaxElements)) {}

  WorkClass work() const override { return WorkClass::kAttention; }
  std::size_t scratch_bytes() const override {
    return task_bytes() *
           static_cast<std::size_t>(std::min(p_.batch * p_.kv_heads, kMaxScratchTasks));
  }

  void run(const KernelCall& call) const override {
    const Extras extras(p_, call.operands.subspan(3));
    const Grid heads = divided(call.pool.threads());
    const Grid units = make_grid(p_.batch * heads.tasks(), 1, 1, kMaxScratchTasks);
    ScratchSlots slots(call.scratch, task_bytes());
    call.pool.parallel_for(units.tasks(), [&](std::int64_t task) {
      const ScratchSlots::Slot slot(slots);
      auto* memory = reinterpret_cast<float*>(slot.memory());
      for (std::int64_t unit = units.begin(task); unit < units.end(task); ++unit) {
        const std::int64_t first = heads.begin(unit % heads.tasks());
        run_heads(call, extras.mask, unit / heads.tasks(), first,
                  heads.end(unit % heads.tasks()) - first, memory);
      }
    });
  }

 private:
  /// Heads that have about so many elements of keys.
  std::int64_t heads_of(std::int64_t elements) const {
    return std::clamp<std::int64_t>(elements / std::max<std::int64_t>(p_.keys * p_.depth, 1), 1,
                                    std::max<std::int64_t>(p_.kv_heads, 1));
  }

  /// A sample's heads in runs. They are divided if samples do not occupy all threads: a run of all
  /// heads reads whole keys, in the order of memory. It changes no bit, as the sums of different
  /// heads are independent.
  Grid divided(int threads) const {
    const std::int64_t parts = (threads + p_.batch - 1) / std::max<std::int64_t>(p_.batch, 1);
    const std::int64_t share = p_.kv_heads / std::max<std::int64_t>(parts, 1);
    const std::int64_t max_step = std::min(max_heads_, std::max(share, heads_of(kMinTaskElements)));
    return make_grid(p_.kv_heads, even_step(p_.kv_heads, max_step, 1));
  }

  /// Scores of a run of heads, its queries, its result, 1 / sum of each head's weights, and the
  /// visible keys.
  std::int64_t score_row() const { return p_.score_row(); }
  std::size_t task_bytes() const {
    const std::int64_t floats = max_heads_ * (score_row() + 2 * p_.depth + 1) + p_.padded_keys();
    return static_cast<std::size_t>(round_up(floats, 16)) * sizeof(float);
  }

  void run_heads(const KernelCall& call, const std::byte* mask, std::int64_t sample,
                 std::int64_t first, std::int64_t heads, float* memory) const {
    auto* const seen =
        reinterpret_cast<std::int32_t*>(memory + max_heads_ * (score_row() + 2 * p_.depth + 1));
    for (std::int64_t j = 0; mask != nullptr && j < p_.padded_keys(); ++j)
      seen[j] = j < p_.keys && mask[sample * p_.keys + j] != std::byte{} ? 1 : 0;
    for (std::int64_t member = 0; member < p_.group(); ++member)
      run_members(call, {sample, first, heads, member}, mask == nullptr ? nullptr : seen, memory);
  }

  /// For each of these heads of keys, the query head that is number `member` of those that see it.
  struct Members {
    std::int64_t sample, first, heads, member;
  };
  void run_members(const KernelCall& call, const Members& m, const std::int32_t* seen,
                   float* memory) const {
    const auto bytes = static_cast<std::int64_t>(size_of(p_.dtype));
    const std::int64_t rows = (m.sample * p_.keys * p_.kv_heads + m.first) * p_.depth * bytes;
    float* const scores = memory;
    float* const q = scores + max_heads_ * score_row();
    float* const out = q + max_heads_ * p_.depth;
    float* const inverses = out + max_heads_ * p_.depth;
    const auto query_at = [&](std::int64_t h) {
      return ((m.sample * p_.kv_heads + m.first + h) * p_.group() + m.member) * p_.depth * bytes;
    };
    for (std::int64_t h = 0; h < m.heads; ++h)
      vectors_.to_f32(p_.dtype, call.operands[0] + query_at(h), p_.depth, q + h * p_.depth);
    loops_.scores(p_.dtype, m.heads, p_.depth, p_.keys, q, call.operands[1] + rows, p_.kv_row(),
                  scores, score_row());
    const std::vector<std::int64_t> visible(static_cast<std::size_t>(m.heads), p_.keys);
    const std::vector<std::int32_t> own(static_cast<std::size_t>(m.heads), 1);
    softmax_(scores, score_row(), m.heads, visible.data(), round_up(p_.keys, attention::kBlock),
             p_.scale, seen, own.data(), inverses);
    loops_.mix(p_.dtype, m.heads, p_.depth, p_.keys, scores, score_row(), call.operands[2] + rows,
               p_.kv_row(), out);
    for (std::int64_t h = 0; h < m.heads; ++h) {
      for (std::int64_t d = 0; d < p_.depth; ++d) out[h * p_.depth + d] *= inverses[h];
      vectors_.from_f32(p_.dtype, out + h * p_.depth, p_.depth, call.results[0] + query_at(h));
    }
  }

  Problem p_;
  const FewRowsLoops& loops_;
  const VectorLoops& vectors_;
  decltype(AttentionLoops::softmax) softmax_;
  std::int64_t max_heads_;  ///< of a unit
};

}  // namespace

KernelPtr plan_single_query(const Node& node, Types operands, const Target& target) {
  if (node.op != Op::kAttention || !FewRowsLoops::can_read(node.type.dtype)) return nullptr;
  const Problem problem(node, operands);
  if (problem.packed || problem.segmented || problem.queries != 1 || problem.keys < kMinKeys ||
      problem.dropout > 0)
    return nullptr;
  return std::make_unique<SingleQueryKernel>(problem, target);
}

}  // namespace lockstep
