// What costs a run most, for the top of its report.
#pragma once

#include <string>
#include <vector>

#include "trainer/report/run_facts.h"

namespace lockstep {

struct LookAt {
  std::string text;     ///< one sentence with its figure
  std::string section;  ///< of the report that shows more: "ranks"
  double share = 0;     ///< of the run's time, roughly: for the order
};

/// The most costly first; empty if nothing costs a noticeable share.
std::vector<LookAt> things_to_look_at(const RunFacts& facts);

/// "rank 2 on a is late: the others wait ...", or "".
std::string late_sentence(const RunFacts& facts);

}  // namespace lockstep
