// Losses of single elements or rows, without a reduction: a model adds them up (Batch::masked_sum).
// As all functions, they widen a 16-bit operand to f32. For classes see cross_entropy().
#pragma once

#include "core/base/api.h"
#include "core/trace/functions.h"

namespace LOCKSTEP_API lockstep {

/// -(w t log sigmoid(x) + (1 - t) log(1 - sigmoid(x))) for logits x, targets t in [0, 1] of the
/// same shape and the weight w of positive ones; as PyTorch's BCEWithLogitsLoss. f32.
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& targets,
                                        double positive_weight = 1.0,
                                        Where where = Where::current());

/// d^2 / 2 for |d| <= delta, else delta (|d| - delta / 2), where d = x - y (P. Huber, "Robust
/// estimation of a location parameter", 1964). f32. Error kUsage unless delta is positive.
Tensor huber(const Tensor& x, const Tensor& y, double delta = 1.0, Where where = Where::current());

/// p (log p - log q), whose sum is the Kullback-Leibler divergence of q from p: `log_q` are
/// logarithms, as log_softmax() gives them, and `p` probabilities; 0 where p is 0. As PyTorch's
/// kl_div. f32.
Tensor kl_divergence(const Tensor& log_q, const Tensor& p, Where where = Where::current());

/// x y / (max(|x|, eps) max(|y|, eps)) along `dim`, which is removed; as PyTorch's
/// cosine_similarity. f32.
Tensor cosine_similarity(const Tensor& x, const Tensor& y, int dim = -1, double eps = 1e-8,
                         Where where = Where::current());

}  // namespace lockstep
