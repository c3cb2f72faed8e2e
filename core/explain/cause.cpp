#include "core/explain/cause.h"

#include <array>

namespace lockstep {
namespace {

struct Facts {
  std::string_view name;
  std::string_view remedy;
};

constexpr std::string_view kSameOps =
    "record the same ops in every step: instead of an `if` on the host, select() by a scalar(); "
    "instead of a loop of another length each time, the longest, with select() of what counts";

// In the order of the enum.
constexpr std::array<Facts, kCauseCount> kFacts = {{
    {"first_compile", ""},
    {"value_read",
     "read the value after the step has been handed over, or do on the host what needs it in a "
     "host_call()"},
    {"mode",
     "training and evaluation are two programs, each made once: where one is wanted, set the same "
     "mode in every step (Mode::training of a ModeScope)"},
    {"input_dtype", "convert it on the host, so that it has one dtype in every step"},
    {"input_shape",
     "pad it to a few sizes with data.padding: bucket, or to one with max (in a program of one's "
     "own DataLoaderOptions::padding with PaddingMode::kBucket or kMax)"},
    {"inputs",
     "use the same inputs in the same ops in every step, a neutral value (zeros, a mask of ones) "
     "where there is nothing"},
    {"constant",
     "give the number as a tensor, x.context().scalar(value, dtype, name), whose value is no part "
     "of "
     "the program; what a function takes as a plain number (an eps, a base, a rate of averaging) "
     "stays the same in every step, or its formula is written with ops that take the scalar()"},
    {"attribute", "keep it the same in every step, or compute both and select() by a scalar()"},
    {"op_added", kSameOps},
    {"op_removed", kSameOps},
    {"op_order", "record in one order, as from a sorted container"},
    {"output_set", "let the handle go before the step is cut, or keep it in every step"},
    {"bucket",
     "pad to fewer sizes with data.buckets (or data.max_buckets, where they are auto), or to one "
     "with data.padding: max (in a program of one's own with DataLoaderOptions::padding)"},
    {"evicted", "raise device.max_programs"},
    {"damaged_entry", "the file was replaced; if it happens again, look at the disk"},
    {"build", ""},
    {"isa", ""},
    {"options",
     "run with the same settings again to load the program; for each of them it is made once"},
}};

const Facts& facts(Cause cause) {
  return kFacts[static_cast<std::size_t>(cause)];
}

}  // namespace

std::string_view name_of(Cause cause) {
  return facts(cause).name;
}

std::optional<Cause> parse_cause(std::string_view name) {
  for (std::size_t i = 0; i < kFacts.size(); ++i)
    if (kFacts[i].name == name) return static_cast<Cause>(i);
  return std::nullopt;
}

std::string_view remedy_of(Cause cause) {
  return facts(cause).remedy;
}

bool is_expected(Cause cause, std::string_view remedy) {
  const bool other_program = cause == Cause::kMode && remedy == remedy_of(cause);
  return remedy.empty() || cause == Cause::kBucket || cause == Cause::kOptions || other_program;
}

}  // namespace lockstep
