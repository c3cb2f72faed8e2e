#include "tests/core/ops/cases/find_error.h"

#include "tests/roundoff/estimate.h"

namespace lockstep {

std::function<std::string(const HostTensor&)> error_finder(const OpCase& c) {
  std::vector<testing::Estimate> operands;
  for (const HostTensor& operand : c.operands) operands.push_back(testing::exactly(operand));
  std::vector<const testing::Estimate*> pointers;
  for (const testing::Estimate& operand : operands) pointers.push_back(&operand);
  return [estimate = testing::estimate_node(c.node(), pointers)](const HostTensor& result) {
    return estimate ? testing::find_error(*estimate, result) : "what is right cannot be decided";
  };
}

std::string find_error(const OpCase& c, const HostTensor& result) {
  return error_finder(c)(result);
}

}  // namespace lockstep
