// Layers: parameters and the user function that applies them. Each records its nodes under its
// module path, with the line of the model that called it. Parameters are f32; the result has the
// dtype of x (see functions.h for what that means in bf16).
#pragma once

#include <optional>
#include <string>

#include "core/nn/parameter.h"
#include "core/trace/functions.h"

namespace lockstep {

/// How a forward pass is meant. Random draws (dropout) happen in training only.
struct Forward {
  bool training = false;
  std::optional<RandomKey> key;  ///< needed where dropout > 0 in training
};

/// y = x w + b over the last dimension.
class Linear {
 public:
  struct Options {
    bool bias = true;
    /// false: weight [in, out] as GPT-2's Conv1D; true: [out, in] as PyTorch's Linear.
    bool transposed = true;
    /// Nothing: PyTorch's default, U(-1/sqrt(in), 1/sqrt(in)) for weight and bias.
    std::optional<Initializer> weight_init;
    std::optional<Initializer> bias_init;
  };
  Linear(ParameterSet& parameters, std::string path, std::int64_t in, std::int64_t out,
         const Options& options);
  /// [..., in] -> [..., out]
  Tensor operator()(const Tensor& x, Where where = Where::current()) const;

 private:
  std::string path_;
  bool transposed_;
  Parameter& weight_;
  Parameter* bias_ = nullptr;
};

/// Rows of a table [count, width].
class Embedding {
 public:
  struct Options {
    Initializer init;
    bool attends = false;  ///< whether attend() will be called
  };
  Embedding(ParameterSet& parameters, std::string path, std::int64_t count, std::int64_t width,
            const Options& options);
  /// integer [...] -> [..., width], f32
  Tensor operator()(const Tensor& indices, Where where = Where::current()) const;
  /// x [..., width] times every row: [..., count]; the output layer of a model that ties its weight
  /// to the embedding.
  Tensor attend(const Tensor& x, Where where = Where::current()) const;
  const Tensor& table() const { return weight_.value; }

 private:
  std::string path_;
  Parameter& weight_;
};

class LayerNorm {
 public:
  LayerNorm(ParameterSet& parameters, std::string path, std::int64_t width, double eps = 1e-5);
  Tensor operator()(const Tensor& x, Where where = Where::current()) const;

 private:
  std::string path_;
  double eps_;
  Parameter& weight_;
  Parameter& bias_;
};

/// PyTorch's Conv2d with its default initialization: x [N,C,H,W] -> [N,O,OH,OW]. Computed in f32
/// whatever x is.
class Conv2d {
 public:
  /// Error kUsage if spec.groups does not divide both numbers of channels.
  Conv2d(ParameterSet& parameters, std::string path, std::int64_t in, std::int64_t out,
         std::int64_t kernel, const ConvSpec& spec);
  Tensor operator()(const Tensor& x, Where where = Where::current()) const;

 private:
  std::string path_;
  ConvSpec spec_;
  Parameter& weight_;
  Parameter& bias_;
};

/// dropout(x) when training with p > 0, under module path `path`.
Tensor apply_dropout(const Tensor& x, double p, const Forward& forward, std::string_view path,
                     Where where = Where::current());

}  // namespace lockstep
