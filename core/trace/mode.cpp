#include "core/trace/mode.h"

#include <utility>

#include "core/trace/context.h"

namespace lockstep {
namespace {

constexpr unsigned kDTypes = static_cast<unsigned>(DType::kBool) + 1;

}  // namespace

ModeScope::ModeScope(TraceContext& context, Mode mode, const Where& where)
    : context_(context), outer_(context.mode()), mode_(std::move(mode)) {
  context.set_mode(&mode_);
  context.note_mode_place(where);
}

ModeScope::~ModeScope() {
  context_.set_mode(outer_);
}

const Mode& mode_of(const TraceContext& context) {
  static const Mode kEvaluation;
  return context.mode() == nullptr ? kEvaluation : *context.mode();
}

std::uint8_t mode_number(const Mode& mode) {
  const auto dtype = static_cast<unsigned>(mode.compute_dtype);
  return static_cast<std::uint8_t>(1 + (mode.training ? dtype : kDTypes + dtype));
}

std::uint32_t mode_bit(std::uint8_t number) {
  return number == 0 ? 0 : 1U << (number - 1U);
}

std::string describe_modes(std::uint32_t bits) {
  std::string out;
  for (unsigned bit = 0; bit < 2 * kDTypes; ++bit) {
    if ((bits >> bit & 1U) == 0) continue;
    out += fmt::format("{}{}, {}", out.empty() ? "" : " and ",
                       bit < kDTypes ? "training" : "evaluation",
                       name_of(static_cast<DType>(bit % kDTypes)));
  }
  return out;
}

Tensor to_compute_dtype(const Tensor& x, Where where) {
  return convert(x, mode_of(context_of("to_compute_dtype", {&x}, where)).compute_dtype, where);
}

}  // namespace lockstep
