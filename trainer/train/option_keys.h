// The options of a trainer as keys of the config: what is checked, compared and saved of them
// follows from the rows of trainer/config/fixed_keys.cpp.
#pragma once

#include <string>
#include <vector>

#include "trainer/job/agreement.h"
#include "trainer/settings/config.h"
#include "trainer/train/trainer_options.h"

namespace lockstep {

/// The options of a run of a config.
TrainerOptions options_of(const Config& config);

/// Error kUsage that names the first member whose value its key does not allow.
void check_options(const TrainerOptions& options);

/// The settings that checkpoints store in place of a config and that ranks must have in common.
std::vector<Term> terms_of(const TrainerOptions& options);

}  // namespace lockstep
