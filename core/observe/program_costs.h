// What the parts of a program take on the device that a rank stands for (core/virtual_time), by its
// cost model: with this the ledger also tells where virtual time goes.
#pragma once

#include <functional>
#include <vector>

namespace lockstep {

struct CompiledStep;

/// Seconds of a bundle, and what of them the device's limits alone give: its work at the peak of
/// units or memory.
struct BundleCost {
  double seconds = 0;
  double lower_bound = 0;
};

struct ProgramCosts {
  std::vector<BundleCost> gradient;  ///< of a call, by the first command of each bundle
  std::vector<BundleCost> update;    ///< the same
  double dispatch = 0;               ///< seconds of a call that are no kernel's: gaps, launches
  double sums = 0;                   ///< seconds for each micro-batch but the first one
  double waits = 0;                  ///< seconds of a step that are no other part's
};

/// Called from the thread that reads the ledger and from that of the device.
using CostsOfProgram = std::function<ProgramCosts(const CompiledStep&)>;

}  // namespace lockstep
