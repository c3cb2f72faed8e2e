// User functions: composites over the ops. Nothing here depends on the engine; users write their
// own functions the same way.
//
// A function computes in the dtype of its input x and converts f32 parameters to it. So a model
// that rounds its first activation to bf16 and keeps f32 parameters trains in mixed precision. Only
// the products of linear() and conv2d() are of 16 bits throughout: all other functions widen a
// 16-bit x to f32 and round the result once.
#pragma once

#include "core/base/api.h"
#include "core/trace/elementwise.h"
#include "core/trace/ops.h"

namespace LOCKSTEP_API lockstep {

Tensor relu(const Tensor& x, Where where = Where::current());     ///< max(x, 0)
Tensor sigmoid(const Tensor& x, Where where = Where::current());  ///< 1 / (1 + exp(-x))
/// GELU, tanh approximation: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) (Hendrycks and Gimpel,
/// arXiv:1606.08415); GPT-2's "gelu_new".
Tensor gelu_tanh(const Tensor& x, Where where = Where::current());
/// GELU, exact: 0.5 x (1 + erf(x / sqrt(2))).
Tensor gelu(const Tensor& x, Where where = Where::current());
/// SiLU, also called swish: x sigmoid(x) (Elfwing et al., arXiv:1702.03118).
Tensor silu(const Tensor& x, Where where = Where::current());
/// SwiGLU: silu(gate) up, two tensors of one shape (Shazeer, arXiv:2002.05202).
Tensor swiglu(const Tensor& gate, const Tensor& up, Where where = Where::current());

/// log(1 + exp(x)), without overflow and with small results to their last digits.
Tensor softplus(const Tensor& x, Where where = Where::current());

/// Of the elements along `dims` (negative: from the end), which are removed, or with `keep_dims`
/// become 1.
Tensor mean(const Tensor& x, IntView dims, bool keep_dims = false, Where where = Where::current());

/// exp(x) / sum(exp(x)) along `dim`, where the largest element is subtracted first.
Tensor softmax(const Tensor& x, int dim, Where where = Where::current());
/// log(softmax(x)) along `dim`, without overflow.
Tensor log_softmax(const Tensor& x, int dim, Where where = Where::current());

/// (x - mean) / sqrt(variance + eps) * weight + bias over the last dimension; weight and bias [C].
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps = 1e-5,
                  Where where = Where::current());

/// x / sqrt(mean(x^2) + eps) * weight over the last dimension; weight [C].
Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps = 1e-6,
                Where where = Where::current());

/// -log softmax(logits)[target] per row: logits [N,V], targets integer [N] in [0,V) -> f32 [N].
/// Rows with a target outside [0,V) (an ignore index) give 0.
Tensor cross_entropy(const Tensor& logits, const Tensor& targets, Where where = Where::current());

/// 1 where the row's largest logit is the target, else 0: f32 [N].
Tensor correct_predictions(const Tensor& logits, const Tensor& targets,
                           Where where = Where::current());

/// In a training mode (mode.h), drops each element with probability p and scales the others by
/// 1/(1-p); numbers are drawn with the mode's key. In other modes the result is x. p = 0 records
/// nothing. A probability f32[] in [0, 1) may change from step to step, as a scalar() can: if it is
/// 0, nothing is dropped, but numbers are drawn. Error kUsage in a training mode without a key.
Tensor dropout(const Tensor& x, double p, Where where = Where::current());
/// The same with a probability f32[].
Tensor dropout(const Tensor& x, const Tensor& p, Where where = Where::current());
/// The same with the given key, in every mode.
Tensor dropout(const Tensor& x, double p, const RandomKey& key, Where where = Where::current());
/// The same with a probability f32[].
Tensor dropout(const Tensor& x, const Tensor& p, const RandomKey& key,
               Where where = Where::current());

/// Uniform f32 in [0, 1) with 24 bits.
Tensor random_uniform(const RandomKey& key, const Shape& shape, Where where = Where::current());

/// Normal f32 with mean 0 and variance 1 (G. Box and M. Muller, "A note on the generation of random
/// normal deviates", 1958), within 5.8 of 0. The key of a training mode is mode_of(x).key.
Tensor random_normal(const RandomKey& key, const Shape& shape, Where where = Where::current());

/// x [..., in] times weight, with an optional bias [out]. `transposed`: weight is [out, in] as in
/// PyTorch's Linear; else [in, out] as in GPT-2's Conv1D. A 16-bit product is rounded, and once
/// more after the bias was added in f32.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor* bias, bool transposed,
              Where where = Where::current());

/// x [N,C,H,W] convolved with weight [O,C/groups,KH,KW], with an optional bias [O]: [N,O,OH,OW].
/// A 16-bit result is rounded, and once more after the bias was added in f32.
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor* bias, const ConvSpec& spec,
              Where where = Where::current());

}  // namespace lockstep
