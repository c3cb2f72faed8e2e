// The memory traffic of an image program besides its products: norms, activations and shortcuts.
#pragma once

#include "core/ir/graph.h"

namespace lockstep {

/// Bytes that the work between products must move however it is fused; 0 for a program without
/// convolutions. Products are convolutions, pointwise ones (which are dots), and pooling. Of the
/// images that products write, each is read once in the forward pass if anything but a product uses
/// it there, and likewise once in the backward pass. Of the images that products read, each that no
/// product wrote is written once, and read once more in the forward pass if it is a shortcut. So a
/// batch normalization with ReLU reads its image once, as if statistics came with the convolution,
/// and its gradient reads two images once and writes one. Small values are not counted.
double image_traffic(const Graph& graph);

}  // namespace lockstep
