// Optimizers: per-parameter update rules over the ops. They get the mean gradient of the global
// batch, already clipped.
//
// A rule is a plain struct of its settings with three functions, and `learning_rate` among the
// settings (trainer/optimizers/sgd.h is a short one). An Optimizer holds any of them.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/api.h"
#include "core/nn/parameter.h"
#include "core/trace/elementwise.h"
#include "core/trace/ops.h"

namespace LOCKSTEP_API lockstep {

/// The members that an update rule must have; Optimizer's functions describe each of them.
template <class T>
concept UpdateRule = std::copy_constructible<T> &&
    requires(const T& rule, TraceContext& context, const Parameter& parameter,
             const Tensor& gradient, std::span<const Tensor> tensors) {
  { rule.learning_rate } -> std::convertible_to<double>;
  { rule.slots() } -> std::same_as<std::vector<std::string>>;
  { rule.scalars(context, std::int64_t{}, double{}) } -> std::same_as<std::vector<Tensor>>;
  { rule.update(parameter, gradient, tensors, tensors) } -> std::same_as<std::vector<Tensor>>;
};

/// Any update rule, as a value.
class Optimizer {
 public:
  /// Holds a copy of the rule.
  template <class Rule>
  requires(!std::same_as<std::remove_cvref_t<Rule>, Optimizer> &&
           UpdateRule<std::remove_cvref_t<Rule>>)
      Optimizer(Rule&& rule)  // NOLINT(google-explicit-constructor,
                              // bugprone-forwarding-reference-overload)
      : held_(std::make_unique<Held<std::remove_cvref_t<Rule>>>(std::forward<Rule>(rule))) {}
  /// Holds a copy of what `other` holds.
  Optimizer(const Optimizer& other) : held_(other.held_->clone()) {}
  Optimizer(Optimizer&&) noexcept = default;
  /// Holds what `other` holds.
  Optimizer& operator=(Optimizer other) noexcept {
    held_ = std::move(other.held_);
    return *this;
  }

  /// The peak learning rate of a schedule.
  double learning_rate() const { return held_->learning_rate(); }

  /// Names of the per-parameter state, zero at the start: "exp_avg", ... (PyTorch's names).
  std::vector<std::string> slots() const { return held_->slots(); }

  /// The numbers of 0-based `step`, as inputs of the graph: they change without recompiling.
  std::vector<Tensor> scalars(TraceContext& context, std::int64_t step,
                              double learning_rate) const {
    return held_->scalars(context, step, learning_rate);
  }

  /// The new value of the parameter, then those of the slots in order.
  std::vector<Tensor> update(const Parameter& parameter, const Tensor& gradient,
                             std::span<const Tensor> slots, std::span<const Tensor> scalars) const {
    return held_->update(parameter, gradient, slots, scalars);
  }

 private:
  struct AnyRule {
    virtual ~AnyRule() = default;
    virtual std::unique_ptr<AnyRule> clone() const = 0;
    virtual double learning_rate() const = 0;
    virtual std::vector<std::string> slots() const = 0;
    virtual std::vector<Tensor> scalars(TraceContext& context, std::int64_t step,
                                        double learning_rate) const = 0;
    virtual std::vector<Tensor> update(const Parameter& parameter, const Tensor& gradient,
                                       std::span<const Tensor> slots,
                                       std::span<const Tensor> scalars) const = 0;
  };

  template <class Rule>
  struct Held final : AnyRule {
    template <class From>
    // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): a Held is never copied or moved
    explicit Held(From&& from) : rule(std::forward<From>(from)) {}
    std::unique_ptr<AnyRule> clone() const override { return std::make_unique<Held>(rule); }
    double learning_rate() const override { return rule.learning_rate; }
    std::vector<std::string> slots() const override { return rule.slots(); }
    std::vector<Tensor> scalars(TraceContext& context, std::int64_t step,
                                double rate) const override {
      return rule.scalars(context, step, rate);
    }
    std::vector<Tensor> update(const Parameter& parameter, const Tensor& gradient,
                               std::span<const Tensor> slots,
                               std::span<const Tensor> scalars) const override {
      return rule.update(parameter, gradient, slots, scalars);
    }
    Rule rule;
  };

  std::unique_ptr<AnyRule> held_;
};

/// Rules of parameters that have settings of their own, by Parameter::group.
using OptimizerGroups = std::map<std::string, Optimizer>;

/// The optimizer's state: one tensor per slot and parameter, in the parameters' order.
using OptimizerState = std::map<std::string, std::vector<Tensor>>;

}  // namespace lockstep
