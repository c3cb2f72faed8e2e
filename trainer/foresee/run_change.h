// What a question of `lockstep foresee RUN --what-if` changes: "dots=2x", "all_reduce=0".
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/settings/config.h"

namespace lockstep {

struct RunChange {
  std::string words;  ///< the question
  /// By class of work (core/kernels/base/work_class.h): its bundles take so many times as long.
  std::map<std::string, double, std::less<>> work = {};
  double all_reduce = 1;               ///< all-reduces take so many times as long
  double bandwidth = 1;                ///< times that of the links between ranks
  double memory_bandwidth = 1;         ///< times that of this machine
  bool unfused_optimizer = false;      ///< each op of the update program is a kernel
  std::vector<std::string> keys = {};  ///< "key.path=value" of the config
};

/// A class of work, all_reduce, bandwidth (between ranks), memory_bandwidth: 0 (it takes no time)
/// or FACTORx (so many times as quick). batch, micro_batch: FACTORx. overlap: on or off. precision:
/// as training.precision. optimizer: unfused. Or any key.path=value of the config. `config`: of the
/// run. Error kUsage with the names that there are.
RunChange parse_change(const std::string& words, const Config& config);

}  // namespace lockstep
