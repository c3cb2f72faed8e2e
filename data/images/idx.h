// IDX, the format of MNIST, plain or gzip-compressed. Source: Y. LeCun, "The MNIST database of
// handwritten digits": big-endian; two zero bytes, the element type (0x08 for u8), the number of
// dimensions, one u32 per dimension, then the elements.
#pragma once

#include <string>

#include "data/files/byte_reader.h"
#include "data/images/image_array.h"

namespace lockstep {

/// Images from a u8 file of 3 dimensions [n,height,width] (one channel) or 4 [n,channels,height,
/// width], labels from a u8 file of 1 dimension. Error kData naming the file, and the expected and
/// actual sizes, if one is missing, damaged, foreign, truncated or oversized, claims or inflates to
/// more than `max_bytes`, or if they differ in n.
LabelledImages read_idx(const std::string& images_path, const std::string& labels_path,
                        std::int64_t max_bytes = ByteReader::kMaxBytes);

}  // namespace lockstep
