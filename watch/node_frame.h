// A node's report of its ranks to the other nodes, sent once a second: a frame of at most 4 KiB.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "watch/report.h"

namespace lockstep {

struct NodeFrame {
  static constexpr std::size_t kBytes = 4096;

  std::string host;
  std::vector<RankReport> ranks;  ///< without commands and foreign calls beyond the first
};

/// Leaves out the last ranks if not all fit.
std::string encode(const NodeFrame& frame);
/// nullopt for anything that encode() does not write.
std::optional<NodeFrame> decode_frame(std::string_view bytes);

}  // namespace lockstep
