#include "tests/core/ops/find_error.h"

#include "tests/roundoff/estimate.h"

namespace lockstep {

std::string find_error(const OpCase& c, const HostTensor& result) {
  std::vector<testing::Estimate> operands;
  for (const HostTensor& operand : c.operands) operands.push_back(testing::exactly(operand));
  std::vector<const testing::Estimate*> pointers;
  for (const testing::Estimate& operand : operands) pointers.push_back(&operand);
  const auto estimate = testing::estimate_node(c.node(), pointers);
  return estimate ? testing::find_error(*estimate, result) : "what is right cannot be decided";
}

}  // namespace lockstep
