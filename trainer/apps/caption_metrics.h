// Metrics of an evaluation that need captions: those that a model generates for the images of the
// validation data, compared with the right ones.
#pragma once

#include <array>
#include <string_view>

#include "core/base/activity.h"
#include "core/runtime/communicator.h"
#include "trainer/apps/captioner.h"
#include "trainer/task/data_source.h"
#include "trainer/task/metrics.h"
#include "trainer/train/evaluate.h"

namespace lockstep {

class RankRuntime;

/// See trainer/evaluators/text_scores.h.
inline constexpr std::array<std::string_view, 2> kCaptionMetrics{"exact_match", "bleu4"};

/// kCaptionMetrics of the first `max_samples` of
/// `data`, captioned in batches of `batch_size`. Images that cannot be read and are skipped do not
/// count. Collective: each rank captions every size()-th batch, and counts are integers, so that
/// the numbers are the same on any number of ranks. Error kData on all ranks if one cannot read an
/// image.
MetricValues caption_metrics(const Captioner& captioner, const CaptionedImages& data,
                             std::int64_t max_samples, std::int64_t batch_size,
                             Communicator& communicator, Activity activity);

/// The same as eval.generate of the config asks for, with samples of at most max_batches batches of
/// an evaluation; null if it asks for none. Everything must outlive it. Error kUsage if the data
/// has no captions to compare with.
MoreMetrics caption_metrics_of(const Config& config, const DataNeeds& needs, const DataSource& data,
                               const Model& model, DType compute_dtype, RankRuntime& runtime);

}  // namespace lockstep
