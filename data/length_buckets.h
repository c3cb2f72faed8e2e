// Which lengths to pad to (`data.buckets: auto`), and how much of what is computed is padding.
//
// All that is padded together has one length, its longest sample's, rounded up to a bucket: in
// training the samples of a global step, whose shards one program serves; in an evaluation those of
// a batch. So the choice goes by the histogram of these maxima, not of the samples' lengths.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/sampler.h"
#include "data/samples/dataset.h"
#include "data/samples/padding.h"

namespace lockstep {

struct LengthStatistics {
  std::map<std::int64_t, std::int64_t> maxima = {};  ///< how many batches have this longest sample
  std::int64_t batch = 0;                            ///< samples of each
  std::int64_t content = 0;                          ///< elements of all samples in them
  std::int64_t longest = 0;                          ///< of the dataset
  std::int64_t maximum = 0;                          ///< of its fields
};

/// Of the steps of the first epoch, or of as many as have a million samples.
LengthStatistics step_lengths(const Dataset& dataset, const StepSampler& sampler);
/// Of the batches of an evaluation; max_batches 0: all.
LengthStatistics batch_lengths(const Dataset& dataset, std::int64_t batch,
                               std::int64_t max_batches);

/// At most `programs` lengths, multiples of `multiple_of`, the last of which holds the longest
/// sample, with the fewest padded elements (linear in the length: the quadratic part of attention
/// is left out, since how much it weighs is the model's). The fewest buckets that do; by dynamic
/// programming over the histogram.
std::vector<std::int64_t> choose_buckets(const LengthStatistics& lengths, std::int64_t programs,
                                         std::int64_t multiple_of);

struct ChosenPadding {
  Padding padding;        ///< with buckets where its mode needs them
  std::string text = "";  ///< a line for people; empty where no field has variable length
};

/// `padding` for these lengths.
ChosenPadding choose_padding(const Padding& padding, const LengthStatistics& lengths);

/// The same for training; a dataset without fields of variable length is not looked at.
ChosenPadding step_padding(const Padding& padding, const Dataset& dataset,
                           const StepSampler& sampler);
/// For an evaluation. The dataset is looked at only if buckets are to be chosen.
Padding evaluation_padding(const Padding& padding, const Dataset& dataset, std::int64_t batch,
                           std::int64_t max_batches);

}  // namespace lockstep
