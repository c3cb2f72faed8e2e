// The gradient of one value while its contributions (shares) arrive. Shares that are mostly zeros
// are kept in compact form: the gradients of slices that together cover the value become one
// concatenate, and a gather's gradient is added to the elements that were read.
#pragma once

#include <vector>

#include "core/trace/tensor.h"

namespace lockstep {

class Adjoint {
 public:
  bool defined() const { return sum_.defined() || !parts_.empty(); }
  /// Shares are added in the order in which they arrive, in the wider of the two dtypes; parts of
  /// slices are added last.
  void add(const Tensor& share);
  /// The sum of all shares so far.
  Tensor sum();
  void clear() { *this = {}; }

 private:
  struct Part {
    Tensor whole;  ///< padded with zeros
    Tensor value;
    std::int64_t start = 0;
  };
  bool add_part(const Tensor& share);
  bool scatter(const Tensor& share);
  void join_parts();

  Tensor sum_;
  std::vector<Part> parts_;  ///< along axis_, of one dtype
  int axis_ = 0;
};

}  // namespace lockstep
