// The binary version of CIFAR. Source: A. Krizhevsky, https://www.cs.toronto.edu/~kriz/cifar.html:
// records of one label byte (CIFAR-10) or a coarse and a fine label byte (CIFAR-100), then 3072
// pixel bytes: 3 channels (red, green, blue) of 32 rows of 32.
#pragma once

#include <string>
#include <vector>

#include "data/files/byte_reader.h"
#include "data/images/image_array.h"

namespace lockstep {

enum class CifarKind : std::uint8_t { kCifar10, kCifar100 };  ///< CIFAR-100 gives fine labels

/// The files' records, joined in order. Error kData naming the file if it is missing or empty, has
/// or inflates to more than `max_bytes`, or its length is not a multiple of the record length.
LabelledImages read_cifar(const std::vector<std::string>& paths, CifarKind kind,
                          std::int64_t max_bytes = ByteReader::kMaxBytes);

}  // namespace lockstep
