// Normalizations. Their parameters are f32, and so is their arithmetic for any dtype of x; the
// result has the dtype of x. Names are PyTorch's, which Hugging Face and torchvision also use.
#pragma once

#include <string_view>

#include "core/base/api.h"
#include "core/nn/module.h"
#include "core/trace/functions.h"

namespace LOCKSTEP_API lockstep {

/// (x - mean) / sqrt(variance + eps) * weight + bias over the last dimension (Ba et al.,
/// arXiv:1607.06450). Parameters "weight" and "bias" [width].
class LayerNorm : public Module {
 public:
  /// `width`: the size of the last dimension.
  LayerNorm(Module& parent, std::string_view name, std::int64_t width, double eps = 1e-5);
  /// [..., width] -> the same
  Tensor operator()(const Tensor& x, Where where = Where::current()) const;

 private:
  double eps_;
  Parameter& weight_;
  Parameter& bias_;
};

/// x / sqrt(mean(x^2) + eps) * weight over the last dimension (Zhang and Sennrich,
/// arXiv:1910.07467). Parameter "weight" [width], as in Hugging Face's LlamaRMSNorm, whose eps is
/// 1e-6 and which rounds a 16-bit x / sqrt(...) before it multiplies; here the product is rounded.
class RMSNorm : public Module {
 public:
  /// `width`: the size of the last dimension.
  RMSNorm(Module& parent, std::string_view name, std::int64_t width, double eps = 1e-6);
  /// [..., width] -> the same
  Tensor operator()(const Tensor& x, Where where = Where::current()) const;

 private:
  double eps_;
  Parameter& weight_;
};

/// (x - mean) / sqrt(variance + eps) * weight + bias, mean and variance over the channels of a
/// group and all places of one sample (Wu and He, arXiv:1803.08494), as PyTorch's GroupNorm.
/// Parameters "weight" and "bias" [channels].
class GroupNorm : public Module {
 public:
  /// Error kUsage if `groups` does not divide `channels`.
  GroupNorm(Module& parent, std::string_view name, std::int64_t groups, std::int64_t channels,
            double eps = 1e-5);
  /// [N, channels, ...] -> the same. Error kUsage for other shapes.
  Tensor operator()(const Tensor& x, Where where = Where::current()) const;

 private:
  std::int64_t groups_;
  double eps_;
  Parameter& weight_;
  Parameter& bias_;
};

/// (x - mean) / sqrt(variance + eps) * weight + bias for each channel (Ioffe and Szegedy,
/// arXiv:1502.03167), as PyTorch's BatchNorm2d. Parameters "weight" and "bias" [channels]; buffers
/// "running_mean" and "running_var" f32 [channels] and "num_batches_tracked" i64[].
///
/// In training, mean and variance are those of the micro-batch, with divisor n for n values of a
/// channel. The running values move by `momentum` towards the mean, over all micro-batches of the
/// step, of the micro-batches' means and unbiased variances (divisor n - 1). This happens once a
/// step, in the update program: it does not depend on ranks, and a skipped step changes nothing. So
/// the micro-batch size affects the results of a model, as under PyTorch's DDP. Evaluations use the
/// running values.
class BatchNorm2d : public Module {
 public:
  /// `initial_weight`: of all channels; with 0 a residual block initially equals its shortcut.
  BatchNorm2d(Module& parent, std::string_view name, std::int64_t channels, double eps = 1e-5,
              double momentum = 0.1, double initial_weight = 1.0);
  /// [N, channels, H, W] -> the same. Error kUsage for other shapes, and in training for one value
  /// per channel, which has no variance.
  Tensor operator()(const Tensor& x, Where where = Where::current()) const;

 private:
  double eps_;
  double momentum_;
  Parameter& weight_;
  Parameter& bias_;
  ModuleBuffer& running_mean_;
  ModuleBuffer& running_var_;
  ModuleBuffer& num_batches_tracked_;
};

}  // namespace lockstep
