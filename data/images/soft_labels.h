// Labels that say more than one class: mixed ones (H. Zhang et al., "mixup: beyond empirical risk
// minimization", ICLR 2018) and smoothed ones (C. Szegedy et al., "Rethinking the Inception
// architecture for computer vision", CVPR 2016). Training samples have them as fields of their own,
// which the loss puts together (trainer/task/model.h): of K classes, sample i is of class k by
//
//   (1 - label_smoothing) (mix_weight [k = label] + (1 - mix_weight) [k = mix_label])
//     + label_smoothing / K
#pragma once

#include <cstdint>
#include <span>

#include "data/samples/dataset.h"

namespace lockstep {

inline constexpr const char* kMixLabel = "mix_label";              ///< i32 []
inline constexpr const char* kMixWeight = "mix_weight";            ///< f32 []
inline constexpr const char* kLabelSmoothing = "label_smoothing";  ///< f32 []

struct SoftLabels {
  double mixup = 0;  ///< alpha: mix_weight is drawn from Beta(alpha, alpha); 0: nothing is mixed
  double smoothing = 0;  ///< label_smoothing, in [0, 1)
};

/// What samples have besides image and label.
std::vector<FieldSpec> soft_label_fields(const SoftLabels& labels);

/// Adds these fields; they say nothing yet but how smooth the label is, and in an evaluation not
/// even that.
void add_soft_labels(Sample& sample, const SoftLabels& labels, const DrawKey& key);

/// How much of itself sample `index` keeps.
double mix_weight(double alpha, std::int64_t index, const DrawKey& key);

/// Mixes each sample's image with that of the next, the last one's with that of the first: pixels
/// and labels by its weight. They are those of one logical shard, so that no rank needs another
/// one's. In an evaluation, or where nothing is to be mixed, they are left as they are.
void mix(std::span<Sample> samples, std::span<const std::int64_t> indices, const SoftLabels& labels,
         const DrawKey& key);

}  // namespace lockstep
