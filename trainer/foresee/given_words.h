// Steps that were measured, as the command line and files give them: "step_ms=182,devices=8".
#pragma once

#include <span>
#include <string>
#include <vector>

#include "trainer/foresee/foresee.h"

namespace lockstep {

/// The measured steps of `words`, each either keys and values or a .csv file whose header has the
/// keys and in which a line is a step; an empty cell is a key that is not given. Only step_ms, its
/// milliseconds, must be. What is not given is as it is asked for: of `config` with `overrides`, on
/// the devices of `options`.
///
///   device                              one of `devices`; needed if they are several
///   devices, nodes                      in all; nodes: 1 if only devices is given
///   math, execution, parallelism        as the options of these names
///   micro_batch_size, global_batch_size, or any key.path of the config
///   config                              another config, to which `overrides` do not apply
///
/// Error kUsage that begins with the word, or with the file and line.
GivenSteps read_given(const std::vector<std::string>& words, const std::string& config,
                      const std::vector<std::string>& overrides,
                      std::span<const DeviceProfile> devices, const ForeseeOptions& options,
                      const Registry& registry);

}  // namespace lockstep
