// Evaluations whose loss was NaN or infinite. A run goes on behind one, and says so at its end.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/log.h"
#include "trainer/settings/setting_name.h"

namespace lockstep {

class NonfiniteEvaluations {
 public:
  /// Adds the loss of an evaluation; `name`: "eval/loss".
  void add(std::int64_t step, const std::string& name, double loss);

  /// Warns of them, if there were any, and forgets them. `of`: for messages.
  void end(Log& log, SettingsOf of);

 private:
  std::int64_t evaluations_ = 0;
  std::int64_t nonfinite_ = 0;
  std::int64_t step_ = 0;  ///< of the first one that was not finite
  std::string name_;       ///< of its loss
  double loss_ = 0;
};

}  // namespace lockstep
