// Every production kernel against the oracle in f64, within derived bounds (find_error.h), and
// against itself: its bits depend only on its node and its operands.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <sstream>

#include "core/base/error.h"
#include "core/ir/group.h"
#include "core/kernels/base/task_kernel.h"
#include "core/kernels/plan_kernel.h"
#include "tests/core/ops/cases/find_error.h"
#include "tests/core/ops/run_case.h"
#include "tests/core/ops/test_name.h"
#include "tests/fixtures/same_bits.h"
#include "tests/fixtures/tested_target.h"

namespace lockstep {
namespace {

constexpr int kLargeCases = 5;

/// Ops that are no kernels: leaves without work, views, calls and collectives (kernel.h).
bool is_kernel(Op op) {
  switch (info_of(op).op_class) {
    case OpClass::kLeaf: return op == Op::kIota || op == Op::kRandomBits;
    case OpClass::kMovement: return op != Op::kReshape;
    case OpClass::kControl: return op == Op::kFusion;
    case OpClass::kCollective: return false;
    case OpClass::kUnary:
    case OpClass::kBinary:
    case OpClass::kCompare:
    case OpClass::kSelect:
    case OpClass::kConvert:
    case OpClass::kReduction:
    case OpClass::kContraction:
    case OpClass::kWindow:
    case OpClass::kAttention: return true;
  }
  __builtin_unreachable();
}

/// Whether an op's kernels for AVX2 are others in a process that is kept within AVX2: only oneDNN
/// asks what the process may use, the others only what their target is. A process without that
/// limit runs them all for AVX2, too (runnable_targets()).
bool is_worth_running(Op op) {
  const bool is_kept_within = tested_target().isa < host_target().isa;
  return !is_kept_within || info_of(op).op_class == OpClass::kContraction;
}

std::vector<Op> kernel_ops() {
  std::vector<Op> out = all_ops();
  std::erase_if(out, [](Op op) { return !is_kernel(op) || !is_worth_running(op); });
  return out;
}

std::vector<Op> elementwise_ops() {
  std::vector<Op> out = all_ops();
  std::erase_if(out, [](Op op) { return !is_elementwise(op); });
  return out;
}

/// What this machine can run, be it fast or slow.
std::vector<Target> runnable_targets() {
  std::vector<Target> out = {{.isa = Isa::kAvx2}};
  if (tested_target().isa == Isa::kAvx2) return out;
  out.push_back({.isa = Isa::kAvx512});
  if (__builtin_cpu_supports("avx512bf16"))
    out.push_back({.isa = Isa::kAvx512, .bf16 = Bf16Units::kVectors});
  return out;
}

std::string describe(const OpCase& c) {
  std::ostringstream out;
  out << c;
  return out.str();
}

OpCase large_case(Op op, int number) {
  return (*cases_of(op, CaseKind::kLarge))(rc::Random(static_cast<std::uint64_t>(number))).value();
}

class ProductionKernel : public ::testing::TestWithParam<Op> {
 protected:
  void SetUp() override { flush_denormals(); }  // as the device's threads do

  /// The kernel's result, found right; in every other way of running it, the same bits.
  static void check(const OpCase& c, ThreadPool& one, ThreadPool& two) {
    const auto find_error_of = error_finder(c);
    for (const Target& target : runnable_targets()) {
      const auto kernel = make_kernel(c, target);
      const HostTensor result = run_case(*kernel, c, one);
      ASSERT_EQ(find_error_of(result), "") << describe(c);
      EXPECT_TRUE(same_bits(run_case(*kernel, c, two), result))
          << describe(c) << " depends on the number of threads";
      EXPECT_TRUE(same_bits(run_case(*kernel, c, two, {.shift = 1}), result))
          << describe(c) << " depends on alignment";
      for (std::size_t i = 0; i < c.operands.size(); ++i) {
        if (!kernel->may_alias(0, i)) continue;
        if (c.operands[i].bytes().size() != result.bytes().size()) continue;
        EXPECT_TRUE(same_bits(run_case(*kernel, c, two, {.in_place = i}), result))
            << describe(c) << " cannot take the memory of operand " << i;
      }
    }
  }
};

TEST_P(ProductionKernel, IsRight) {
  ThreadPool one(1);
  ThreadPool two(2);
  rc::detail::checkGTest([&] {
    const OpCase c = *cases_of(GetParam(), CaseKind::kSmall).value();
    check(c, one, two);
    RC_ASSERT(!HasFailure());
  });
}

TEST_P(ProductionKernel, IsRightWhenWorkIsDivided) {
  ThreadPool one(1);
  ThreadPool two(2);
  for (int i = 0; i < kLargeCases; ++i) check(large_case(GetParam(), i), one, two);
}

class ElementwiseKernel : public ProductionKernel {};

/// Element i + 1 of an elementwise result is element i of the result of what follows.
TEST_P(ElementwiseKernel, ComputesAnElementAlikeAtEveryPosition) {
  ThreadPool pool(1);
  for (int number = 0; number < kLargeCases; ++number) {
    OpCase whole = large_case(GetParam(), number);
    OpCase rest = whole;
    const std::int64_t count = whole.operands[0].shape().elements();
    if (count < 2) continue;
    for (std::size_t i = 0; i < whole.operands.size(); ++i) {
      const HostTensor& operand = whole.operands[i];
      HostTensor flat(operand.dtype(), Shape{count});
      HostTensor tail(operand.dtype(), Shape{count - 1});
      std::ranges::copy(operand.bytes(), flat.bytes().begin());
      std::ranges::copy(operand.bytes().subspan(size_of(operand.dtype())), tail.bytes().begin());
      whole.operands[i] = flat;
      rest.operands[i] = tail;
    }
    for (const Target& target : runnable_targets()) {
      const HostTensor all = run_case(*make_kernel(whole, target), whole, pool);
      const HostTensor shifted = run_case(*make_kernel(rest, target), rest, pool);
      EXPECT_TRUE(same_bits(all.bytes().subspan(size_of(all.dtype())), shifted.bytes()))
          << describe(whole);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, ProductionKernel, ::testing::ValuesIn(kernel_ops()), test_name);
INSTANTIATE_TEST_SUITE_P(Of, ElementwiseKernel, ::testing::ValuesIn(elementwise_ops()), test_name);

/// All that a plan depends on.
std::string facts_of(const KernelFacts& kernel, const OpCase& c) {
  std::string out = fmt::format("{}, {} bytes of scratch, in bundles: {}", name_of(kernel.work()),
                                kernel.scratch_bytes(), kernel.joins_bundles());
  for (std::size_t result = 0; result < result_count(c.node()); ++result)
    for (std::size_t operand = 0; operand < c.operands.size(); ++operand)
      out += kernel.may_alias(result, operand) ? " may" : " no";
  return out;
}

TEST_P(ProductionKernel, IsKnownBeforeItHasCode) {
  for (const CaseKind kind : {CaseKind::kSmall, CaseKind::kLarge}) {
    for (int number = 0; number < kLargeCases; ++number) {
      const OpCase c =
          (*cases_of(GetParam(), kind))(rc::Random(static_cast<std::uint64_t>(number))).value();
      for (const Target& target : runnable_targets()) {
        const auto planned = plan_kernel(c.node(), c.operand_types(), target);
        const auto kernel = make_kernel(c, target);
        EXPECT_EQ(facts_of(*planned, c), facts_of(*kernel, c)) << describe(c);
        EXPECT_TRUE(!kernel->joins_bundles() || kernel->as_tasks() != nullptr) << describe(c);
        EXPECT_EQ(planned->as_tasks() != nullptr, kernel->as_tasks() != nullptr) << describe(c);
      }
    }
  }
}

/// A call of a kernel on copies of a case's operands.
struct TaskRun {
  TaskRun(const TaskKernel& kernel, const OpCase& c) : kernel(kernel) {
    for (const HostTensor& operand : c.operands) {
      operands.emplace_back(operand.dtype(), operand.shape());
      std::ranges::copy(operand.bytes(), operands.back().bytes().begin());
    }
    for (std::size_t k = 0; k < result_count(c.node()); ++k) {
      const Type type = result_type(c.node(), k);
      results.emplace_back(type.dtype, type.shape);
      std::fill_n(results.back().bytes().begin(), results.back().bytes().size(), kUntouched);
      result_pointers.push_back(results.back().bytes().data());
    }
    for (const HostTensor& operand : operands) operand_pointers.push_back(operand.bytes().data());
    scratch = allocate_host(kernel.scratch_bytes());
  }
  KernelCall call() { return {operand_pointers, result_pointers, scratch->data(), pool}; }

  /// Leaves of an operand what lies in the extent.
  void spoil(std::size_t i, const Extent& keep, const HostTensor& original) {
    const std::span<std::byte> bytes = operands[i].bytes();
    const auto [first, rest] = outside(keep, bytes.size());
    std::ranges::copy(original.bytes(), bytes.begin());
    const std::span<std::byte> after = bytes.subspan(rest);
    std::fill_n(bytes.begin(), first, std::byte{0xFF});
    std::fill_n(after.begin(), after.size(), std::byte{0xFF});
  }
  /// What lies before `first` and from `rest` on of so many bytes is not in the extent.
  static std::pair<std::size_t, std::size_t> outside(const Extent& extent, std::size_t bytes) {
    const auto max = static_cast<std::int64_t>(bytes);
    return {static_cast<std::size_t>(std::min(extent.begin, max)),
            static_cast<std::size_t>(std::min(extent.end, max))};
  }
  std::vector<std::vector<std::byte>> snapshot() const {
    std::vector<std::vector<std::byte>> out;
    for (const HostTensor& result : results)
      out.emplace_back(result.bytes().begin(), result.bytes().end());
    return out;
  }

  static constexpr std::byte kUntouched{0xCC};
  const TaskKernel& kernel;
  ThreadPool pool{1};
  std::vector<HostTensor> operands;
  std::vector<HostTensor> results;
  std::vector<const std::byte*> operand_pointers;
  std::vector<std::byte*> result_pointers;
  BufferPtr scratch;
};

/// What chains rely on: a call whose every step sees nothing but what it says that it reads gives
/// the bits of an ordinary one, and each step leaves alone what it does not say that it writes.
void expect_honest_tasks(const TaskKernel& kernel, const OpCase& c) {
  TaskRun whole(kernel, c);
  kernel.run(whole.call());
  TaskRun parts(kernel, c);
  const auto step = [&](const auto& reads, const auto& writes, const auto& run) {
    for (std::size_t i = 0; i < c.operands.size(); ++i) parts.spoil(i, reads(i), c.operands[i]);
    const auto before = parts.snapshot();
    run();
    for (std::size_t k = 0; k < before.size(); ++k) {
      const std::span<const std::byte> now = parts.results[k].bytes();
      const auto [first, rest] = TaskRun::outside(writes(k), now.size());
      const std::span<const std::byte> old(before[k]);
      ASSERT_TRUE(same_bits(now.first(first), old.first(first)) &&
                  same_bits(now.subspan(rest), old.subspan(rest)))
          << describe(c) << ": result " << k << " is written elsewhere";
    }
  };
  constexpr Extent kNothing{0, 0};
  step([&](std::size_t i) { return kernel.begins_with(i) ? Extent{} : kNothing; },
       [&](std::size_t) { return kNothing; }, [&] { kernel.begin(parts.call()); });
  for (std::int64_t task = kernel.tasks(); task-- > 0;)
    step([&](std::size_t i) { return kernel.reads(task, i); },
         [&](std::size_t k) { return kernel.finishes(k) ? kNothing : kernel.writes(task, k); },
         [&] { kernel.run_task(parts.call(), task); });
  step([&](std::size_t) { return kNothing; },
       [&](std::size_t k) { return kernel.finishes(k) ? Extent{} : kNothing; },
       [&] { kernel.finish(parts.call()); });
  for (std::size_t k = 0; k < whole.results.size(); ++k)
    EXPECT_TRUE(same_bits(parts.results[k].bytes(), whole.results[k].bytes())) << describe(c);
}

TEST_P(ProductionKernel, TasksReadAndWriteNoMoreThanTheySay) {
  for (const CaseKind kind : {CaseKind::kSmall, CaseKind::kLarge}) {
    for (int number = 0; number < kLargeCases; ++number) {
      const OpCase c =
          (*cases_of(GetParam(), kind))(rc::Random(static_cast<std::uint64_t>(number))).value();
      for (const Target& target : runnable_targets()) {
        const auto kernel = make_kernel(c, target);
        if (kernel->as_tasks() != nullptr) expect_honest_tasks(*kernel->as_tasks(), c);
      }
    }
  }
}

TEST(ProductionKernels, AreMissingForWhatIsNoKernel) {
  for (const Op op : all_ops()) {
    if (is_kernel(op) || !cases_of(op, CaseKind::kSmall)) continue;
    const OpCase c = (*cases_of(op, CaseKind::kSmall))(rc::Random(1)).value();
    try {
      make_kernel(c, {.isa = Isa::kAvx2});
      FAIL() << name_of(op) << " has a kernel";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInternal);
    }
  }
}

}  // namespace
}  // namespace lockstep
