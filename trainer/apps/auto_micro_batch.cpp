#include "trainer/apps/auto_micro_batch.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/metrics.h"
#include "core/engine/engine.h"
#include "trainer/apps/fitting_micro_batch.h"
#include "trainer/run/saved_facts.h"

namespace lockstep {
namespace {

/// That of the checkpoint's run, if it had the same batch and this number of ranks can have it.
std::optional<std::int64_t> saved_size(const Config& config, const Registry& registry,
                                       const std::optional<SharedCheckpoint>& saved, int ranks) {
  if (!saved) return std::nullopt;
  const BatchConfig before = facts_of(*saved, registry).config.batch;
  BatchConfig batch = config.batch;
  batch.micro_batch_size = before.micro_batch_size;
  const bool same = before.global_batch_size == batch.global_batch_size &&
                    before.micro_batch_size != kAutoMicroBatch;
  return same && !batch_problem(batch, ranks) ? std::optional(before.micro_batch_size)
                                              : std::nullopt;
}

}  // namespace

std::int64_t choose_micro_batch(const Config& config, const Registry& registry,
                                const std::optional<SharedCheckpoint>& saved,
                                const DataSource& data, RankRuntime& runtime) {
  Communicator& communicator = runtime.communicator();
  if (const auto size = saved_size(config, registry, saved, communicator.size())) {
    runtime.log().info("training.micro_batch_size: {}, as in the run that is resumed", *size);
    return *size;
  }
  const auto limit = static_cast<std::int64_t>(runtime.device().options().memory_bytes);
  const auto found = [&] {
    const ForeignCall call(runtime.activity(), "planning micro-batches that fit");
    CompileOptions options = runtime.engine().options();
    options.dump_folder.clear();
    RunPlanner planner(registry, data, std::move(options), runtime.device().options());
    return largest_micro_batch(config, planner, communicator.size(), rank_bytes, limit);
  }();
  std::int64_t size = found ? found->micro_batch_size : 0;
  // Ranks may have devices of different sizes, and all take micro-batches of one.
  for (const std::string& other :
       communicator.exchange("micro-batch size that fits", std::to_string(size)))
    size = std::min<std::int64_t>(size, std::stoll(other));
  if (size == 0)
    raise(ErrorKind::kOutOfMemory,
          "no micro-batch that divides training.global_batch_size {} over {} ranks fits the "
          "device: raise device.memory_gb, or use training.precision: bf16-mixed or gradient "
          "checkpointing (model.gradient_checkpointing); --dry-run with micro_batch_size 1 shows "
          "what a run needs",
          config.batch.global_batch_size, communicator.size());
  runtime.log().info(
      "training.micro_batch_size: {}, the largest that fits device.memory_gb {} and divides the "
      "batch",
      size, config.device.memory_gb);
  return size;
}

}  // namespace lockstep
