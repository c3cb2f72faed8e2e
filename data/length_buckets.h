// Chooses the lengths to pad to (`data.buckets: auto`), and reports the share of padding.
//
// Samples that are padded together get one length, that of the longest, rounded up to a bucket: in
// training the samples of a global step, whose micro-batches use one program; in an evaluation
// those of a batch. So the choice uses the histogram of these maxima, not of the samples' lengths.
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

/// Of the steps of the first epoch, or of the first steps with a million samples.
LengthStatistics step_lengths(const Dataset& dataset, const StepSampler& sampler);
/// Of the batches of an evaluation; max_batches 0: all.
LengthStatistics batch_lengths(const Dataset& dataset, std::int64_t batch,
                               std::int64_t max_batches);

/// At most `programs` lengths, multiples of `multiple_of`, with the fewest padded elements; the
/// last one holds the longest sample. Only linear cost counts: the weight of attention's quadratic
/// part depends on the model. Uses no more buckets than needed; found by dynamic programming over
/// the histogram.
std::vector<std::int64_t> choose_buckets(const LengthStatistics& lengths, std::int64_t programs,
                                         std::int64_t multiple_of);

struct ChosenPadding {
  Padding padding;        ///< with buckets if its mode needs them
  std::string text = "";  ///< a line for users; empty if no field has variable length
};

/// `padding` for these lengths.
ChosenPadding choose_padding(const Padding& padding, const LengthStatistics& lengths);

/// The same for training; a dataset without fields of variable length is not read.
ChosenPadding step_padding(const Padding& padding, const Dataset& dataset,
                           const StepSampler& sampler);
/// For an evaluation. The dataset is read only if buckets must be chosen.
Padding evaluation_padding(const Padding& padding, const Dataset& dataset, std::int64_t batch,
                           std::int64_t max_batches);

}  // namespace lockstep
