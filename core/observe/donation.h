// Which inputs of a compiled step give their memory to their next values, and why others do not:
// read from its plans, for analyses. A donated input is still copied if there is another lease on
// it when the step runs (device_tensor.h); that is not known before.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

struct CompiledStep;

enum class Donation : std::uint8_t {
  kDonated,
  kNotReplaced,  ///< no output is its next value: batches, inputs that are only read
  kOnHost,       ///< a number of the host, which has no memory on the device
  kCopied,       ///< it has a next value, which needs memory of its own
};

struct InputDonation {
  Donation kind = Donation::kNotReplaced;
  /// Of kCopied: "dot_general model.cpp:41 cannot overwrite its operand".
  std::string why = {};
};

/// One for each input of the step.
std::vector<InputDonation> donations(const CompiledStep& step);

}  // namespace lockstep
