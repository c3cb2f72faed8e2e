#include "trainer/train/evaluate.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/engine/engine.h"
#include "core/runtime/communicator.h"
#include "core/runtime/device.h"
#include "core/trace/reads.h"
#include "data/eval_loader.h"
#include "data/length_buckets.h"
#include "trainer/task/batch_types.h"
#include "trainer/train/training_step.h"

namespace lockstep {
namespace {

struct Sums {
  double sum = 0;
  double count = 0;
};

/// The result of a batch.
struct BatchSums {
  std::int64_t index = 0;
  std::map<std::string, Sums> metrics;
  std::vector<std::string> partials;  ///< one for each evaluator
  std::int64_t skipped = 0;
};

struct Pending {
  std::int64_t index;
  Loss loss;
  HostTensor mask;
  std::int64_t skipped;
};

using Json = nlohmann::json;  // as MessagePack, which keeps every bit of a double

std::string to_bytes(const std::vector<BatchSums>& all) {
  Json out = Json::array();
  for (const BatchSums& batch : all) {
    Json metrics = Json::object();
    for (const auto& [name, sums] : batch.metrics) metrics[name] = {sums.sum, sums.count};
    Json partials = Json::array();
    for (const std::string& partial : batch.partials)
      partials.push_back(Json::binary({partial.begin(), partial.end()}));
    out.push_back({batch.index, std::move(metrics), std::move(partials), batch.skipped});
  }
  std::string bytes;
  Json::to_msgpack(out, bytes);
  return bytes;
}

void add_from_bytes(const std::string& bytes, std::vector<BatchSums>& all) {
  for (const Json& batch : Json::from_msgpack(bytes)) {
    BatchSums& out = all.at(batch[0].get<std::size_t>());
    for (const auto& [name, sums] : batch[1].items())
      out.metrics[name] = {sums[0].get<double>(), sums[1].get<double>()};
    for (const Json& partial : batch[2]) {
      const auto& binary = partial.get_binary();
      out.partials.emplace_back(binary.begin(), binary.end());
    }
    out.skipped = batch[3].get<std::int64_t>();
  }
}

/// A rank that was asked to stop sends this instead of sums; one that cannot read its data sends
/// this and the error.
constexpr std::string_view kStopped = "stopped";
constexpr std::string_view kFailed = "failed: ";

struct AllSums {
  std::vector<BatchSums> batches;  ///< of all ranks, in order
  bool stopped = false;
  std::string failure = {};  ///< of the lowest rank that has one
};

AllSums exchange_sums(Communicator& communicator, const std::string& own, std::int64_t batches) {
  AllSums out{.batches = std::vector<BatchSums>(static_cast<std::size_t>(batches))};
  for (const std::string& bytes : communicator.exchange("evaluation", own)) {
    if (bytes == kStopped) {
      out.stopped = true;
    } else if (bytes.starts_with(kFailed)) {
      if (out.failure.empty()) out.failure = bytes.substr(kFailed.size());
    } else {
      add_from_bytes(bytes, out.batches);
    }
  }
  return out;
}

/// Waits for the batch.
BatchSums read_sums(const Pending& pending, const EvaluateOptions& options) {
  BatchSums out;
  out.index = pending.index;
  out.skipped = pending.skipped;
  const Loss& loss = pending.loss;
  const Sums& total = out.metrics["loss"] = {loss.sum.item(), loss.count.item()};
  for (const auto& [name, ratio] : loss.metrics) {
    const bool shared = ratio.count.handle() == loss.count.handle();
    out.metrics[name] = {ratio.sum.item(), shared ? total.count : ratio.count.item()};
  }
  if (options.evaluators.empty()) return out;
  HostBatch outputs;
  for (const auto& [name, tensor] : loss.outputs) outputs[name] = tensor.to_host();
  outputs["mask"] = pending.mask;
  for (const auto& evaluator : options.evaluators)
    out.partials.push_back(evaluator->partial(outputs));
  return out;
}

Evaluation combine(const std::vector<BatchSums>& all, const EvaluateOptions& options) {
  std::map<std::string, Sums> totals;
  Evaluation out;
  for (const BatchSums& batch : all) {
    for (const auto& [name, sums] : batch.metrics) {
      totals[name].sum += sums.sum;
      totals[name].count += sums.count;
    }
    out.skipped += batch.skipped;
  }
  out.count = static_cast<std::int64_t>(totals["loss"].count);
  for (const auto& [name, sums] : totals) {
    out.names.insert(name);
    if (sums.count != 0) out.metrics[name] = sums.sum / sums.count;
  }
  const MetricValues ratios = out.metrics;
  for (std::size_t i = 0; i < options.evaluators.size(); ++i) {
    std::vector<std::string> partials;
    partials.reserve(all.size());
    for (const BatchSums& batch : all) partials.push_back(batch.partials.at(i));
    for (const auto& [name, value] : options.evaluators[i]->combine(partials, ratios)) {
      out.names.insert(name);
      out.metrics[name] = value;
    }
  }
  return out;
}

/// An error of the data is one on all ranks.
void add_more(const EvaluateOptions& options, Evaluation& out) {
  try {
    for (const auto& [name, value] : options.more(options.max_batches)) {
      out.names.insert(name);
      out.metrics[name] = value;
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kData) throw;
    out = {.complete = false, .failure = error.what()};
  }
}

}  // namespace

Evaluation evaluate(Engine& engine, Communicator& communicator, const LossFunction& loss,
                    const DatasetPtr& dataset, const EvaluateOptions& options) {
  EvalOptions loading;
  loading.batch_size = options.batch_size;
  if (options.max_batches > 0) loading.max_batches = options.max_batches;
  loading.rank = communicator.rank();
  loading.ranks = communicator.size();
  loading.workers = options.workers;
  loading.prefetch = options.prefetch;
  loading.padding =
      evaluation_padding(options.padding, *dataset, options.batch_size, options.max_batches);
  loading.seed = options.seed;
  loading.activity = options.activity;
  loading.spans = &engine.device().spans();
  engine.batches_are_padded(padded_dimensions(*dataset, loading.padding, "eval."),
                            bucket_lengths(loading.padding));
  EvalLoader loader(dataset, loading);

  // Results are read a few batches late, so that the device always has work.
  Device& device = engine.device();
  const auto lag = static_cast<std::size_t>(device.options().queue_depth);
  const auto room = std::make_shared<Reservation>(device.allocator(), "evaluation batches");
  room->grow_to(static_cast<std::size_t>(
      device.options().steps_in_flight() *
      batch_bytes(eval_batch_types(*dataset, loading.padding, options.batch_size))));
  std::deque<Pending> pending;
  std::vector<BatchSums> own;
  const auto read_first = [&] {
    own.push_back(read_sums(pending.front(), options));
    pending.pop_front();
    options.activity.progress();
  };
  engine.set_step(options.step);
  const OwnReads late(engine.context());
  const auto stopped = [&] { return options.stop_requested && options.stop_requested(); };
  std::string failure;
  while (loader.has_next() && !stopped()) {
    EvalBatch batch;
    try {
      batch = loader.next();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kData) throw;
      failure = error.what();
      break;
    }
    if (options.on_skipped) std::ranges::for_each(batch.skipped, options.on_skipped);
    const HostTensor mask = batch.batch.at("mask");
    Batch::Fields fields;
    for (auto& [name, value] : batch.batch) {
      const std::string label = "eval." + name;
      fields[name] = engine.adopt(device.copy_to_device({std::move(value)}, label, room),
                                  InputKind::kBatch, label);
    }
    Loss recorded =
        record_evaluation(loss, Batch(std::move(fields)), options.compute_dtype,
                          options.evaluators.empty() ? LossOutputs::kDrop : LossOutputs::kKeep,
                          {.where = options.where});
    pending.push_back({batch.index, std::move(recorded), mask, std::ssize(batch.skipped)});
    engine.mark_step(SyncReason::kEvaluation, options.where);
    if (pending.size() > lag) read_first();
  }
  while (!pending.empty()) read_first();

  const std::string mine = !failure.empty()    ? std::string(kFailed) + failure
                           : loader.has_next() ? std::string(kStopped)
                                               : to_bytes(own);
  const AllSums all = exchange_sums(communicator, mine, loader.batches());
  if (!all.failure.empty()) return {.complete = false, .failure = all.failure};
  if (all.stopped) return {.complete = false};
  Evaluation out = combine(all.batches, options);
  if (out.count == 0 && out.skipped > 0)
    return {.complete = false,
            .failure = fmt::format("{}: none of the {} samples that were evaluated could be read",
                                   dataset->describe(), out.skipped)};
  if (options.more) add_more(options, out);
  return out;
}

}  // namespace lockstep
