#include "core/kernels/base/task_kernel.h"

#include <gtest/gtest.h>

#include "core/ir/text.h"
#include "tests/core/kernels/kernel_case.h"
#include "tests/fixtures/tested_target.h"

namespace lockstep::cpu_test {
namespace {

/// A call with memory of its own.
struct OwnedCall {
  OwnedCall(KernelCache& kernels, const Case& c) : kernel(kernels.get(c.node, c.types())) {
    for (const HostTensor& operand : c.operands) operands.push_back(operand.bytes().data());
    for (const Type& type : result_types(c.node)) {
      tensors.emplace_back(type.dtype, type.shape);
      std::memset(tensors.back().bytes().data(), 0xCC, type.bytes());
      results.push_back(tensors.back().bytes().data());
    }
    scratch = allocate_host(kernel->scratch_bytes());
  }
  KernelCall call(ThreadPool& pool) const { return {operands, results, scratch->data(), pool}; }
  std::string bits() const {
    std::string out;
    for (const HostTensor& t : tensors)
      out.append(reinterpret_cast<const char*>(t.bytes().data()), t.bytes().size());
    return out;
  }

  std::shared_ptr<const Kernel> kernel;
  std::vector<const std::byte*> operands;
  std::vector<std::byte*> results;
  std::vector<HostTensor> tensors;
  BufferPtr scratch;
};

/// Of every kind: one and several tasks, none, sums of rows, of columns and of everything.
std::vector<Case> cases() {
  const auto tensor = [](const Shape& shape) { return random_tensor(DType::kF32, shape, 5); };
  const auto sum = [&](const Shape& shape, std::vector<std::int64_t> dims) {
    return make_case(Op::kReduceSum, {tensor(shape)}, {{Attr::kDims, std::move(dims)}});
  };
  std::vector<Case> out;
  for (const std::int64_t size : {1, 1000, 100000, 0})
    out.push_back(make_case(Op::kExp, {tensor(Shape{size})}));
  out.push_back(sum(Shape{100000}, {0}));
  out.push_back(sum(Shape{0}, {0}));
  out.push_back(sum(Shape{300, 200}, {1}));
  out.push_back(sum(Shape{300, 200}, {0}));
  const auto key = [](std::int64_t value) { return HostTensor::scalar(value); };
  for (const std::int64_t stream : {7, 8})
    out.push_back(make_case(Op::kRandomBits, {key(1), key(2), key(3)},
                            {{Attr::kShape, {40000}}, {Attr::kStream, {stream}}}));
  out.push_back(make_case(Op::kNegate, {tensor(Shape{70000})}));
  return out;
}

TEST(TaskKernel, CallsRunTogetherGiveTheBitsOfOneAfterTheOther) {
  KernelCache kernels{tested_target()};
  const std::vector<Case> all = cases();
  ThreadPool one(1);
  std::vector<std::string> expected;
  for (const Case& c : all) {
    const OwnedCall call(kernels, c);
    call.kernel->run(call.call(one));
    expected.push_back(call.bits());
  }
  for (const int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    std::vector<OwnedCall> owned;
    std::vector<TaskCall> calls;
    owned.reserve(all.size());
    for (const Case& c : all) {
      const OwnedCall& call = owned.emplace_back(kernels, c);
      ASSERT_NE(call.kernel->as_tasks(), nullptr);
      calls.push_back({*call.kernel->as_tasks(), call.call(pool)});
    }
    run_together(calls, pool);
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(owned[i].bits(), expected[i]) << i;
  }
}

TEST(TaskKernel, NoCallsAreNothingToDo) {
  ThreadPool pool(2);
  run_together({}, pool);
}

TEST(TaskKernel, AKernelThatDividesItsWorkItselfIsNone) {
  KernelCache kernels{tested_target()};
  const Case transposed = make_case(Op::kTranspose, {random_tensor(DType::kF32, Shape{4, 4}, 1)},
                                    {{Attr::kDims, {1, 0}}});
  EXPECT_EQ(kernels.get(transposed.node, transposed.types())->as_tasks(), nullptr);
}

}  // namespace
}  // namespace lockstep::cpu_test
