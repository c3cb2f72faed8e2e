// Trains a module: steps over a data loader's batches, evaluation, checkpoints and resume, logs.
//
//   Trainer trainer(session, net, AdamW{.learning_rate = 1e-2},
//                   {.run = "runs/net", .checkpoint = {.resume = "auto", .save_interval = 50}});
//   for (const Batch& batch : trainer.steps(data, 500)) trainer.step(batch, net);
//   session.print("eval {}", trainer.evaluate(data, net).at("loss"));
//
// All ranks of a job make the same calls. Each rank trains on its part of each batch; the result
// has the same bits on any number of ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <vector>

#include "core/base/api.h"
#include "core/nn/module.h"
#include "trainer/optimizers/optimizer.h"
#include "trainer/task/batch.h"
#include "trainer/task/loss.h"
#include "trainer/task/metrics.h"
#include "trainer/train/data_loader.h"
#include "trainer/train/session.h"
#include "trainer/train/trainer_options.h"

namespace LOCKSTEP_API lockstep {

struct Evaluation;
struct StepOutcome;
struct StepPlan;

/// A number of a step that is computed asynchronously.
class StepNumber {
 public:
  /// Number `name` of a step.
  StepNumber(std::shared_ptr<StepOutcome> step, std::string name)
      : step_(std::move(step)), name_(std::move(name)) {}
  /// Waits for the step. NaN for a metric whose count was zero.
  double value(std::source_location where = std::source_location::current()) const;
  bool is_ready() const;  ///< whether value() would not wait

 private:
  std::shared_ptr<StepOutcome> step_;
  std::string name_;
};

/// A step that was queued on the device.
class StepResult {
 public:
  explicit StepResult(std::shared_ptr<StepOutcome> step) : step_(std::move(step)) {}  ///< of a step
  std::int64_t number() const;  ///< updates made, this one included
  /// The mean over what Loss::count counts, of all ranks.
  StepNumber loss() const { return {step_, "loss"}; }
  /// The norm of the mean gradient before clipping.
  StepNumber grad_norm() const { return {step_, "grad_norm"}; }
  /// A metric of the loss; value() raises error kUsage for an unknown name.
  StepNumber metric(const std::string& name) const { return {step_, name}; }

 private:
  std::shared_ptr<StepOutcome> step_;
};

/// Metrics besides those of the loss.
using Evaluators = std::vector<std::shared_ptr<const Evaluator>>;

/// Trains one module in one session: steps, evaluations, checkpoints, resume, logs.
class Trainer {
 public:
  /// Gives the module its values: new ones, or those of a checkpoint. Collective, with the same
  /// arguments on all ranks. The module must outlive it; after the session it can only be
  /// destroyed. Errors: kUsage for options, a run folder that cannot be made, ranks that differ, or
  /// a module that another trainer trains; kCheckpoint for a checkpoint that does not fit the
  /// module; kOutOfMemory for a model that does not fit the device.
  Trainer(Session& session, Module& module, Optimizer optimizer, TrainerOptions options = {});
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  class Steps;
  /// Batches from the restored step to step `total`, counted from the first step of the run. Pass
  /// each to step() once; it lives until the next one. The run saves between two batches if a save
  /// is due, and after the last. The steps end before `total` when a rank was asked to stop, on all
  /// ranks at the same step, or when early_stopping.patience is exceeded. The loader must outlive
  /// them.
  Steps steps(const DataLoader& data, std::int64_t total);

  /// Records forward, backward and update and queues them; returns while they run. `batch`: that of
  /// the loop, or one made of its fields. `loss`: a module or a function from a Batch to a Loss,
  /// which must not read values of tensors. If it throws, nothing is changed.
  template <class F>
  StepResult step(const Batch& batch, F&& loss,
                  std::source_location where = std::source_location::current()) {
    constexpr bool kIsModule =
        std::is_lvalue_reference_v<F> && std::is_base_of_v<Module, std::remove_cvref_t<F>>;
    return step_loss(batch, as_function(loss), kIsModule, where);
  }

  /// Evaluates exactly over the loader's dataset: every sample counts once, and the values are the
  /// same on any number of ranks. Logged as <name>/<metric>; those of "eval" are compared with the
  /// best. Error kPreempted, which run() turns into exit code 75, if a rank was asked to stop: then
  /// the run has saved.
  template <class F>
  MetricValues evaluate(const DataLoader& data, F&& loss, const Evaluators& evaluators = {},
                        const std::string& name = "eval",
                        std::source_location where = std::source_location::current()) {
    return evaluate_loss(data, as_function(loss), evaluators, name, where);
  }

  /// Saves now, and returns when the file is written.
  void save();

  std::int64_t step_number() const;  ///< updates made so far
  bool stopped() const;              ///< whether the run ended because it was asked to stop

  // For lockstep itself.
  struct Parts;  ///< trainer_parts.h
  explicit Trainer(std::unique_ptr<Parts> parts);
  const Parts& parts() const { return *parts_; }
  /// The same as evaluate(), but returns nothing if a rank was asked to stop: then the steps end.
  std::optional<Evaluation> try_evaluate(const DataLoader& data, const LossFunction& loss,
                                         const Evaluators& evaluators, const std::string& name,
                                         std::source_location where);

 private:
  friend class Steps;
  template <class F>
  static LossFunction as_function(F& loss) {
    return [&loss](const Batch& batch) { return loss(batch); };
  }
  StepResult step_loss(const Batch& batch, const LossFunction& loss, bool lasting,
                       const std::source_location& where);
  MetricValues evaluate_loss(const DataLoader& data, const LossFunction& loss,
                             const Evaluators& evaluators, const std::string& name,
                             const std::source_location& where);

  std::unique_ptr<Parts> parts_;
};

/// The range of a range-for loop.
class Trainer::Steps {
 public:
  /// Makes one pass over the batches.
  class Iterator {
   public:
    explicit Iterator(Steps* steps) : steps_(steps) {}  ///< at the batch that the steps hold
    const Batch& operator*() const { return *steps_->batch_; }  ///< the batch, until the next one
    /// Goes to the next batch.
    Iterator& operator++() {
      steps_->advance();
      return *this;
    }
    /// Whether there is a batch.
    bool operator!=(const Iterator&) const { return steps_->batch_ != nullptr; }

   private:
    Steps* steps_;
  };
  Steps(Trainer& trainer, const DataLoader& data, std::int64_t total);  ///< see Trainer::steps()
  /// For lockstep itself.
  Steps(Trainer& trainer, const DataLoader& data, StepPlan plan, std::int64_t total);
  ~Steps();
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  /// Requests the first batch.
  Iterator begin() {
    advance();
    return Iterator(this);
  }
  Iterator end() { return Iterator(this); }  ///< what an iterator without a batch equals

 private:
  void advance();

  Trainer& trainer_;
  const Batch* batch_ = nullptr;
  int exceptions_;  ///< in flight when the steps began
};

}  // namespace lockstep

/// Numbers of steps in messages: formatting one waits for its step.
template <>
struct fmt::formatter<lockstep::StepNumber> : fmt::formatter<double> {
  /// Writes StepNumber::value().
  template <class Context>
  auto format(const lockstep::StepNumber& number, Context& context) const {
    return fmt::formatter<double>::format(number.value(), context);
  }
};
