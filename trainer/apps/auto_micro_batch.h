// training.micro_batch_size: auto.
#pragma once

#include <cstdint>
#include <optional>

#include "trainer/job/rank_runtime.h"
#include "trainer/run/shared_checkpoint.h"
#include "trainer/settings/config.h"
#include "trainer/task/data_source.h"

namespace lockstep {

class Registry;

/// The size of micro-batches of a config that leaves it to the run. A resumed run keeps that of its
/// checkpoint if the batch still divides so, because its result depends on it; any other takes the
/// largest that fits the device memory of all ranks. Says in the log which one and why. Collective.
/// Error kOutOfMemory if none fits.
std::int64_t choose_micro_batch(const Config& config, const Registry& registry,
                                const std::optional<SharedCheckpoint>& saved,
                                const DataSource& data, RankRuntime& runtime);

}  // namespace lockstep
