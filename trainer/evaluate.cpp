#include "trainer/evaluate.h"

#include <cstring>
#include <deque>
#include <vector>

#include "core/base/error.h"
#include "data/eval_loader.h"
#include "trainer/batch_types.h"

namespace lockstep {
namespace {

struct BatchSums {
  std::int64_t index;
  double loss;
  double count;
  double correct;
};

struct Pending {
  std::int64_t index;
  ModelOutput output;
};

BatchSums read_sums(const Pending& pending) {
  return {pending.index, pending.output.loss_sum.item(), pending.output.count.item(),
          pending.output.correct_sum.item()};
}

std::string to_bytes(const std::vector<BatchSums>& sums) {
  std::string out(sums.size() * sizeof(BatchSums), '\0');
  if (!sums.empty()) std::memcpy(out.data(), sums.data(), out.size());
  return out;
}

/// A rank that was asked to stop sends this instead of sums.
constexpr std::string_view kStopped = "stopped";
static_assert(kStopped.size() % sizeof(BatchSums) != 0);

/// All ranks' sums, ordered by batch; empty if one of them stopped.
std::vector<BatchSums> exchange_sums(Communicator& communicator, const std::string& own,
                                     std::int64_t batches) {
  std::vector<BatchSums> out(static_cast<std::size_t>(batches));
  for (const std::string& bytes : communicator.exchange("evaluation", own)) {
    if (bytes == kStopped) return {};
    std::vector<BatchSums> theirs(bytes.size() / sizeof(BatchSums));
    if (!theirs.empty()) std::memcpy(theirs.data(), bytes.data(), bytes.size());
    for (const BatchSums& sums : theirs) out.at(static_cast<std::size_t>(sums.index)) = sums;
  }
  return out;
}

}  // namespace

Evaluation evaluate(Engine& engine, Communicator& communicator, Model& model,
                    const DatasetPtr& dataset, const EvaluateOptions& options) {
  EvalOptions loading;
  loading.batch_size = options.batch_size;
  if (options.max_batches > 0) loading.max_batches = options.max_batches;
  loading.rank = communicator.rank();
  loading.ranks = communicator.size();
  loading.workers = options.workers;
  loading.prefetch = options.prefetch;
  loading.activity = options.activity;
  EvalLoader loader(dataset, loading);

  // Results are read a few batches late, so that the device always has work.
  Device& device = engine.device();
  const auto lag = static_cast<std::size_t>(device.options().queue_depth);
  const auto room = std::make_shared<Reservation>(device.allocator(), "evaluation batches");
  room->grow_to(
      static_cast<std::size_t>(device.options().steps_in_flight() *
                               batch_bytes(eval_batch_types(*dataset, options.batch_size))));
  std::deque<Pending> pending;
  std::vector<BatchSums> own;
  const auto read_first = [&] {
    own.push_back(read_sums(pending.front()));
    pending.pop_front();
    options.activity.progress();
  };
  engine.set_step(options.step);
  const auto stopped = [&] { return options.stop_requested && options.stop_requested(); };
  while (loader.has_next() && !stopped()) {
    EvalBatch batch = loader.next();
    TensorMap fields;
    for (auto& [name, value] : batch.batch) {
      const std::string label = "eval." + name;
      fields[name] = engine.adopt(device.copy_to_device({std::move(value)}, label, room),
                                  InputKind::kBatch, label);
    }
    pending.push_back({batch.index, model.forward(fields, {.training = false, .key = {}})});
    engine.mark_step(SyncReason::kEvaluation);
    if (pending.size() > lag) read_first();
  }
  while (!pending.empty()) read_first();

  Evaluation out;
  double loss = 0;
  double correct = 0;
  double count = 0;
  const std::string mine = loader.has_next() ? std::string(kStopped) : to_bytes(own);
  const std::vector<BatchSums> all = exchange_sums(communicator, mine, loader.batches());
  out.complete = !all.empty() || loader.batches() == 0;
  for (const BatchSums& sums : all) {
    loss += sums.loss;
    count += sums.count;
    correct += sums.correct;
  }
  out.count = static_cast<std::int64_t>(count);
  out.loss = loss / count;
  out.accuracy = correct / count;
  return out;
}

}  // namespace lockstep
