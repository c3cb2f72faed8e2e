// Standard output that cannot be written (a full disk, a closed pipe) is an error of commands whose
// result is the text. Training ignores it.
#pragma once

#include <iosfwd>

namespace lockstep {

/// Flushes. Error kInternal if not all of the output was written. A pipe whose reader has closed
/// it, as in `lockstep ckpt inspect RUN | head`, is no error.
void finish_output(std::ostream& out);

/// The same for C's stdout.
void finish_standard_output();

}  // namespace lockstep
