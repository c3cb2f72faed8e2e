// Chooses how images are stored: models write [N,C,H,W], and where convolutions and pooling work on
// them, and all that is computed elementwise around those, they become [N,H,W,C] once per program.
// So the values of one place lie side by side, as products and vectors want them: sums for each
// channel are sums of columns, what is multiplied with each channel is a row, and nothing is
// transposed between layers. Transposes stand where an image enters or leaves.
#pragma once

#include "core/ir/graph.h"
#include "core/ir/target.h"

namespace lockstep {

Graph channels_last(Graph graph, const Target& target);

}  // namespace lockstep
