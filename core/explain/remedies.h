// Remedies for recompilations for which the cause alone (cause.h) does not determine one.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/ir/graph.h"

namespace lockstep {

/// A dimension of an input whose size changed.
struct ChangedSize {
  InputKind kind;
  std::string_view dimension;  ///< its name, or its number
  bool padded;                 ///< by a data loader
};
std::string_view remedy_of_size(const ChangedSize& changed);

/// The remedy for an attribute. `resizes`: it changes the number of elements of the op's result.
std::string_view remedy_of_attr(Attr attr, bool resizes);

/// For a number that is part of the program because it is a size.
inline constexpr std::string_view kSizeRemedy =
    "a size is part of the program: take the largest in every step and mask the rest, or a few "
    "sizes";
/// For a slice of another size.
inline constexpr std::string_view kSliceRemedy =
    "slice the largest size in every step and mask the rest; what only moves is taken by "
    "dynamic_slice() with starts that are scalar(), or by gather() with indices that are an input";
/// For a constant of another size.
inline constexpr std::string_view kTableSizeRemedy =
    "make it an input of its largest size in every step, and mask the rest: values of an input are "
    "no part of the program, but its size is";
/// For an input that has as many elements in another shape.
inline constexpr std::string_view kShapeRemedy =
    "give it one shape in every step and reshape() or transpose() it within the step";
/// For a constant that is more than a number.
inline constexpr std::string_view kTableRemedy =
    "make it an input, a tensor(value, name) of the session, whose values are no part of the "
    "program; what a function makes of a plain number changes with that: keep it the same";
/// For an input that is a constant in some programs.
inline constexpr std::string_view kInputRemedy =
    "give it as an input in every step, whose values are no part of the program: a number as "
    "x.context().scalar(value, dtype, name), anything else as a tensor(value, name) of the session";
/// For the same values in other places.
inline constexpr std::string_view kTakenOrderRemedy =
    "record in one order, as from a sorted container; where the program chooses what is taken, "
    "choose by select() with a scalar()";
/// For the same numbers in other places.
inline constexpr std::string_view kNumberOrderRemedy =
    "give each number as a tensor, x.context().scalar(value, dtype, name), whose value is no part "
    "of the program; or, if only the order of recording changed, record in one order, as from a "
    "sorted container";
/// For an op that joins another number of parts.
inline constexpr std::string_view kPartsRemedy =
    "how many there are is part of the program: take the same number in every step, with neutral "
    "ones for those that are not there, or write into a tensor of the largest size with "
    "dynamic_update_slice()";
/// For an op whose operands were swapped.
inline constexpr std::string_view kSwapRemedy =
    "write the operands in one order in every step; where both orders are needed, compute both and "
    "select() by a scalar()";
/// For an op that takes a different result than before.
inline constexpr std::string_view kOperandRemedy =
    "take the same values in every step: choose between two by select() with a scalar()";
/// For kept tensors whose order changed.
inline constexpr std::string_view kOutputOrderRemedy =
    "make what is kept from step to step (parameters, state, running values) before the first "
    "step, in one order, and assign() to it";
/// For parts of a model that are computed again for the backward pass, or no longer.
inline constexpr std::string_view kRematRemedy = "put the same parts into remat() in every step";
/// For random numbers that are drawn in some steps only.
inline constexpr std::string_view kDropoutRemedy =
    "draw in every step: dropout(x, x.context().scalar(rate, dtype, name), key) takes a rate that "
    "may be 0 at times; other noise is multiplied by a scalar()";
/// For ops of the optimizer.
inline constexpr std::string_view kUpdateRemedy =
    "the optimizer, its settings, the clipping of gradients, on_nonfinite, what is trainable and "
    "the rules of buffers are part of the program: keep them the same in every step, and give "
    "every Trainer the same of them (TrainerOptions)";
/// For the same step in another precision.
inline constexpr std::string_view kPrecisionRemedy =
    "compute in one precision in every step: training.precision (of TrainerOptions, too), and the "
    "compute dtype of a ModeScope, the same in every Trainer of a model; where two are wanted, "
    "each is a program of its own, once";
/// For parts of a training step that are recorded as in an evaluation, or no longer.
inline constexpr std::string_view kPurposeRemedy =
    "record the same parts of a training step for training, and the same as in an evaluation, in "
    "every step (Mode::training of a ModeScope); where a part is frozen in some of them, each "
    "choice is one more program, once";
/// For parameters that are trained in one program only.
inline constexpr std::string_view kTrainedRemedy =
    "which parameters are trained is part of the program: the same set_trainable() in every step "
    "and in every Trainer; where parts of a model are trained in turn, each choice is one more "
    "program, once";
/// For random numbers that are drawn elsewhere.
inline constexpr std::string_view kDrawRemedy =
    "draw in modules of the same names, in the same order, in every step";

}  // namespace lockstep
