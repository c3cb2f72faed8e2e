#include "trainer/task/loss.h"

#include "core/base/error.h"
#include "core/trace/context.h"
#include "core/trace/cut_trace.h"

namespace lockstep {
namespace {

void check_scalar(const Tensor& value, const std::string& what, bool may_be_integer,
                  const std::source_location& where) {
  LS_USER_CHECK(value.defined(), "{}: {} is missing: it is an undefined tensor",
                origin_of(where).to_string(), what);
  LS_USER_CHECK(value.shape().rank() == 0, "{} must be a scalar, not {}", what,
                value.type().to_string());
  LS_USER_CHECK(is_float(value.dtype()) || (may_be_integer && is_integer(value.dtype())),
                "{} must be {}, not {}", what, may_be_integer ? "a number" : "of a float dtype",
                value.type().to_string());
}

}  // namespace

void check_loss(const Loss& loss, const std::source_location& where) {
  check_scalar(loss.sum, "the sum of the loss", false, where);
  check_scalar(loss.count, "the count of the loss", true, where);
  for (const auto& [name, ratio] : loss.metrics) {
    LS_USER_CHECK(name != "loss" && name != "grad_norm" && !name.empty(),
                  "a metric cannot be called '{}'", name);
    check_scalar(ratio.sum, fmt::format("the sum of metric '{}'", name), true, where);
    check_scalar(ratio.count, fmt::format("the count of metric '{}'", name), true, where);
  }
  for (const auto& [name, output] : loss.outputs)
    if (!output.defined())
      raise_undefined(fmt::format("output '{}' of the loss", name), origin_of(where));
}

}  // namespace lockstep
