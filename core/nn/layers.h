// Layers: parameters and the function that applies them (norm.h, attention.h and transformer.h have
// more). Each records its nodes under its module path, with the line of the model that called it.
// Parameters are f32; the result has the dtype of x (see functions.h for what that means in bf16).
#pragma once

#include <optional>
#include <string_view>

#include "core/base/api.h"
#include "core/nn/module.h"
#include "core/trace/functions.h"

namespace LOCKSTEP_API lockstep {

/// y = x w + b over the last dimension. The product is computed in the dtype of x, or, for an x of
/// f32, in the mode's compute dtype (mode.h).
class Linear : public Module {
 public:
  /// Whether there is a bias, and how parameters begin.
  struct Options {
    bool bias = true;  ///< whether there is a parameter "bias" [out]
    /// false: weight [in, out] as GPT-2's Conv1D; true: [out, in] as PyTorch's Linear.
    bool transposed = true;
    /// Nothing: PyTorch's default, U(-1/sqrt(in), 1/sqrt(in)) for weight and bias.
    std::optional<Initializer> weight_init;
    std::optional<Initializer> bias_init;  ///< as weight_init
  };
  /// `in` features to `out` features, with a bias.
  Linear(Module& parent, std::string_view name, std::int64_t in, std::int64_t out);
  /// Parameters "weight" and, with options.bias, "bias" [out].
  Linear(Module& parent, std::string_view name, std::int64_t in, std::int64_t out,
         const Options& options);
  /// [..., in] -> [..., out]
  Tensor operator()(const Tensor& x, Where where = Where::current()) const;

 private:
  bool transposed_;
  Parameter& weight_;
  Parameter* bias_ = nullptr;
};

/// Rows of a table [count, width].
class Embedding : public Module {
 public:
  /// How the table begins and what it is used for.
  struct Options {
    Initializer init = Initializer::normal(1.0);  ///< PyTorch's default
    bool attends = false;                         ///< whether attend() will be called
  };
  /// `count` rows of `width` elements: parameter "weight" [count, width].
  Embedding(Module& parent, std::string_view name, std::int64_t count, std::int64_t width);
  /// The same with options.
  Embedding(Module& parent, std::string_view name, std::int64_t count, std::int64_t width,
            const Options& options);
  /// integer [...] -> [..., width], f32
  Tensor operator()(const Tensor& indices, Where where = Where::current()) const;
  /// x [..., width] times every row, plus a bias [count] (null: none): [..., count]; the output
  /// layer of a model that ties its weight to the embedding.
  Tensor attend(const Tensor& x, const Tensor* bias = nullptr,
                Where where = Where::current()) const;
  const Tensor& table() const { return weight_.get(); }  ///< the parameter, f32 [count, width]

 private:
  Parameter& weight_;
};

/// PyTorch's Conv2d with its default initialization: x [N,C,H,W] -> [N,O,OH,OW], computed in the
/// dtype of x, or, for an x of f32, in the mode's compute dtype (mode.h).
class Conv2d : public Module {
 public:
  /// Whether there is a bias, and how the weight begins.
  struct Options {
    bool bias = true;  ///< whether there is a parameter "bias" [out]
    /// Nothing: PyTorch's default, U(-1/sqrt(n), 1/sqrt(n)), where n is the number of inputs of one
    /// result.
    std::optional<Initializer> weight_init = {};
  };
  /// Error kUsage if spec.groups does not divide both numbers of channels.
  Conv2d(Module& parent, std::string_view name, std::int64_t in, std::int64_t out,
         std::int64_t kernel, const ConvSpec& spec = {});
  /// Parameters "weight" [out, in / groups, kernel, kernel] and, with options.bias, "bias" [out].
  Conv2d(Module& parent, std::string_view name, std::int64_t in, std::int64_t out,
         std::int64_t kernel, const ConvSpec& spec, const Options& options);
  /// x [N,in,H,W] -> [N,out,OH,OW]. Error kUsage for other shapes.
  Tensor operator()(const Tensor& x, Where where = Where::current()) const;

 private:
  ConvSpec spec_;
  Parameter& weight_;
  Parameter* bias_ = nullptr;
};

/// Drops elements in training (functions.h), and does nothing otherwise.
class Dropout : public Module {
 public:
  /// `p`: the probability of dropping an element, in [0, 1).
  Dropout(Module& parent, std::string_view name, double p);
  /// X with dropped elements, of the same shape and dtype.
  Tensor operator()(const Tensor& x, Where where = Where::current()) const;

 private:
  double p_;
};

}  // namespace lockstep
