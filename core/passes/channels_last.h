// Chooses how images are stored. Models write [N,C,H,W]; in convolutions and pooling, and in the
// elementwise work around them, images become [N,H,W,C] once per program. So the values of one
// place are contiguous, as products and vectors need: sums for each channel are sums of columns, a
// factor for each channel is a row, and nothing is transposed between layers. Transposes remain
// only where an image enters or leaves.
#pragma once

#include "core/ir/graph.h"
#include "core/ir/target.h"

namespace lockstep {

Graph channels_last(Graph graph, const Target& target);

}  // namespace lockstep
