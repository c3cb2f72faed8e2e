#include "trainer/loss.h"

#include "core/base/error.h"

namespace lockstep {
namespace {

void check_scalar(const Tensor& value, const std::string& what, bool may_be_integer) {
  LS_USER_CHECK(value.defined(), "the loss has no {}", what);
  LS_USER_CHECK(value.shape().rank() == 0, "{} of the loss must be a scalar, not {}", what,
                value.type().to_string());
  LS_USER_CHECK(is_float(value.dtype()) || (may_be_integer && is_integer(value.dtype())),
                "{} of the loss must be {}, not {}", what,
                may_be_integer ? "a number" : "of a float dtype", value.type().to_string());
}

}  // namespace

void check_loss(const Loss& loss) {
  check_scalar(loss.sum, "sum", false);
  check_scalar(loss.count, "count", true);
  for (const auto& [name, ratio] : loss.metrics) {
    LS_USER_CHECK(name != "loss" && !name.empty(), "a metric cannot be called '{}'", name);
    check_scalar(ratio.sum, fmt::format("the sum of metric '{}'", name), true);
    check_scalar(ratio.count, fmt::format("the count of metric '{}'", name), true);
  }
}

}  // namespace lockstep
