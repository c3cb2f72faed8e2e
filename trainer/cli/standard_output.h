// Standard output that cannot be written (a full disk, a closed pipe) is an error where the text is
// what the command is for, and none of training's business.
#pragma once

#include <iosfwd>

namespace lockstep {

/// Flushes. Error kInternal if not all that was printed was written; but a pipe whose reader has
/// gone, as in `lockstep ckpt inspect RUN | head`, is none.
void finish_output(std::ostream& out);

/// The same for C's stdout.
void finish_standard_output();

}  // namespace lockstep
