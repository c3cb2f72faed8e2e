// The gradient of one value while its shares come in. Shares that are mostly zeros are kept as what
// they are made of: the gradients of slices that together are the value become one concatenate, and
// a gather's are added to the places that were read.
#pragma once

#include <vector>

#include "core/trace/tensor.h"

namespace lockstep {

class Adjoint {
 public:
  bool defined() const { return sum_.defined() || !parts_.empty(); }
  /// Shares are added in the order in which they come, in the wider dtype of both, parts of slices
  /// last.
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
