#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "core/base/thread_pool.h"
#include "core/kernels/cpu/kernels.h"
#include "core/kernels/reference.h"

namespace lockstep {
namespace {

bool is_f64(const Type& type) {
  return type.dtype == DType::kF64;
}

class ReferenceKernel final : public Kernel {
 public:
  ReferenceKernel(const Node& node, Types operands, std::string name)
      : node_(node), operands_(operands.begin(), operands.end()), name_(std::move(name)) {}

  std::string name() const override { return name_; }

  void run(const KernelCall& call) const override {
    std::vector<HostTensor> values;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      HostTensor value(operands_[i].dtype, operands_[i].shape);
      std::memcpy(value.bytes().data(), call.operands[i], value.bytes().size());
      values.push_back(std::move(value));
    }
    std::optional<DenormalsKept> exact;  // f64 is for oracles, which are to be exact
    if (is_f64(node_.type) || std::any_of(operands_.begin(), operands_.end(), is_f64))
      exact.emplace();
    const std::vector<HostTensor> results = evaluate_reference_node(node_, values);
    for (std::size_t k = 0; k < results.size(); ++k)
      std::memcpy(call.results[k], results[k].bytes().data(), results[k].bytes().size());
  }

 private:
  Node node_;
  std::vector<Type> operands_;
  std::string name_;
};

}  // namespace

KernelPtr make_reference_kernel(const Node& node, Types operands, std::string name) {
  return std::make_shared<ReferenceKernel>(node, operands, std::move(name));
}

}  // namespace lockstep
