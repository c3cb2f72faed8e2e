// Written by bench/foresight/fit.py; do not edit.
#include "core/cost/cost_constants.h"

namespace lockstep {

const FittedConstants& fitted_constants() {
  static const FittedConstants fitted{};
  return fitted;
}

}  // namespace lockstep
