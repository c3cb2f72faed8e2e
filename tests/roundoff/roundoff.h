// Roundings in error bounds (Higham, Accuracy and Stability of Numerical Algorithms, 2.1 and 3.1).
#pragma once

#include "core/base/dtype.h"

namespace lockstep {

/// The unit roundoff of a float dtype; 0 of others.
double roundoff_of(DType dtype);

/// The relative error of n roundings of unit roundoff u: n u / (1 - n u).
double gamma(double n, double roundoff);

}  // namespace lockstep
