// What a program that convolves images must move besides: norms, activations and shortcuts.
#pragma once

#include "core/ir/graph.h"

namespace lockstep {

/// Bytes that the work between products (convolutions and pointwise ones, which are dots, and
/// pooling) cannot do without, however it is fused; 0 for a program without convolutions. Of the
/// images that products give, each is read once in the forward pass if anything but a product uses
/// it there, and once in the backward pass likewise; of those that products take, each that no
/// product gave is written once, and read once more in the forward pass if it is a shortcut. So a
/// batch normalization with ReLU reads its image once, as if statistics came with the convolution,
/// and its gradient reads two images once and writes one. Small values are not counted.
double image_traffic(const Graph& graph);

}  // namespace lockstep
