#include "tests/core/ops/run_kernel.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "core/kernels/codegen/code_cache.h"
#include "core/kernels/plan_kernel.h"

namespace lockstep {
namespace {

constexpr std::byte kPoison{0xff};  // NaN in every float dtype
constexpr std::size_t kGuard = 128;

/// Memory for one tensor, `shift` elements beyond a boundary, with guards on both sides.
class Block {
 public:
  Block(const Type& type, std::size_t shift)
      : bytes_(type.bytes()),
        begin_(kGuard + shift * size_of(type.dtype)),
        buffer_(allocate_host(begin_ + bytes_ + kGuard)) {
    std::fill_n(buffer_->data(), buffer_->bytes(), kPoison);
  }
  std::byte* data() const { return buffer_->data() + begin_; }
  void check_guards() const {
    const auto untouched = [](std::byte b) { return b == kPoison; };
    const std::byte* const end = buffer_->data() + buffer_->bytes();
    LS_CHECK(std::all_of<const std::byte*>(buffer_->data(), data(), untouched) &&
                 std::all_of<const std::byte*>(data() + bytes_, end, untouched),
             "a kernel wrote outside its result");
  }

 private:
  std::size_t bytes_;
  std::size_t begin_;
  BufferPtr buffer_;
};

}  // namespace

std::shared_ptr<const Kernel> make_kernel(const OpCase& c, const Target& target) {
  const std::vector<Type> types = c.operand_types();
  // Code that several cases share is generated once.
  static codegen::CodeCache avx2(Isa::kAvx2);
  static codegen::CodeCache avx512(Isa::kAvx512);
  auto kernel = plan_kernel(c.node(), types, target);
  kernel->generate({.codes = target.isa == Isa::kAvx2 ? avx2 : avx512, .log = Log::null()});
  return kernel;
}

HostTensor run_kernel(const Kernel& kernel, const OpCase& c, ThreadPool& pool,
                      const RunOptions& options) {
  std::vector<Block> operands;
  std::vector<const std::byte*> operand_data;
  for (const HostTensor& operand : c.operands) {
    operands.emplace_back(Type{operand.dtype(), operand.shape()}, options.shift);
    std::memcpy(operands.back().data(), operand.bytes().data(), operand.bytes().size());
    operand_data.push_back(operands.back().data());
  }
  const Type type = c.node().type;
  const Block own_result(type, options.shift);
  const Block& result = options.in_place ? operands[*options.in_place] : own_result;
  std::byte* result_data = result.data();
  const BufferPtr scratch = allocate_host(kernel.scratch_bytes());
  std::fill_n(scratch->data(), scratch->bytes(), kPoison);

  kernel.run({operand_data, {&result_data, 1}, scratch->data(), pool});

  result.check_guards();
  for (const Block& operand : operands) operand.check_guards();
  HostTensor out(type.dtype, type.shape);
  std::memcpy(out.bytes().data(), result_data, out.bytes().size());
  return out;
}

}  // namespace lockstep
