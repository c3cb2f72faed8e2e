#include "core/kernels/cpu/base/reference_kernel.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "core/base/thread_pool.h"
#include "core/kernels/reference/reference.h"

namespace lockstep {
namespace {

bool is_f64(const Type& type) {
  return type.dtype == DType::kF64;
}

class ReferenceKernel final : public Kernel {
 public:
  ReferenceKernel(const Node& node, Types operands, WorkClass work)
      : node_(node), operands_(operands.begin(), operands.end()), work_(work) {}

  WorkClass work() const override { return work_; }

  void run(const KernelCall& call) const override {
    std::vector<HostTensor> values;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      HostTensor value(operands_[i].dtype, operands_[i].shape);
      std::memcpy(value.bytes().data(), call.operands[i], value.bytes().size());
      values.push_back(std::move(value));
    }
    std::optional<DenormalsKept> exact;  // f64 is for oracles, which must be exact
    if (is_f64(node_.type) || std::any_of(operands_.begin(), operands_.end(), is_f64))
      exact.emplace();
    const std::vector<HostTensor> results = evaluate_reference_node(node_, values);
    for (std::size_t k = 0; k < results.size(); ++k)
      std::memcpy(call.results[k], results[k].bytes().data(), results[k].bytes().size());
  }

 private:
  Node node_;
  std::vector<Type> operands_;
  WorkClass work_;
};

}  // namespace

KernelPtr plan_reference_kernel(const Node& node, Types operands, WorkClass work) {
  return std::make_unique<ReferenceKernel>(node, operands, work);
}

}  // namespace lockstep
