#include "trainer/apps/caption_metrics.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "trainer/evaluators/text_scores.h"
#include "trainer/job/rank_runtime.h"

namespace lockstep {
namespace {

/// What a rank sends in place of counts if it cannot read an image, before the error.
constexpr std::string_view kUnreadable = "unreadable: ";

TextScores scores_of_rank(const Captioner& captioner, const CaptionedImages& data,
                          std::int64_t samples, std::int64_t batch_size,
                          const Communicator& communicator, Activity activity) {
  TextScores out;
  const std::int64_t step = batch_size * communicator.size();
  for (std::int64_t first = batch_size * communicator.rank(); first < samples; first += step) {
    const ImageBatch batch = image_batch(*data.images, first, batch_size);
    const auto found = captioner.captions(batch.fields, first);
    for (std::int64_t i = first; i < std::min(first + batch_size, samples); ++i) {
      const auto row = static_cast<std::size_t>(i - first);
      if (batch.skipped[row].empty()) out.add(found[row].front(), data.captions(i));
    }
    activity.progress();
  }
  return out;
}

}  // namespace

MetricValues caption_metrics(const Captioner& captioner, const CaptionedImages& data,
                             std::int64_t max_samples, std::int64_t batch_size,
                             Communicator& communicator, Activity activity) {
  const std::int64_t samples = std::min(max_samples, data.images->size());
  const std::int64_t batch = std::min(batch_size, samples);
  std::string own;
  try {
    own = scores_of_rank(captioner, data, samples, batch, communicator, activity).to_bytes();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kData) throw;
    own = std::string(kUnreadable) + error.what();
  }
  TextScores all;
  for (const std::string& bytes : communicator.exchange("captions", own)) {
    if (bytes.starts_with(kUnreadable))
      raise(ErrorKind::kData, "{}", bytes.substr(kUnreadable.size()));
    all += TextScores::from_bytes(bytes);
  }
  return {{std::string(kCaptionMetrics[0]), all.exact_match()},
          {std::string(kCaptionMetrics[1]), all.bleu()}};
}

MoreMetrics caption_metrics_of(const Config& config, const DataNeeds& needs, const DataSource& data,
                               const Model& model, DType compute_dtype, RankRuntime& runtime) {
  const EvalGenerateConfig& asked = config.eval.generate;
  if (asked.max_samples == 0) return nullptr;
  LS_USER_CHECK(data.captioned.images != nullptr && data.tokenizer != nullptr,
                "'eval.generate.max_samples' asks for captions, but {} data has none in words to "
                "compare them with",
                config.data.type);
  const std::int64_t batch_size =
      config.eval.batch_size > 0 ? config.eval.batch_size : config.batch.micro_batch_size;
  SampleConfig sample;
  sample.temperature = 0;
  sample.num_beams = asked.num_beams;
  sample.max_new_tokens = asked.max_new_tokens > 0 ? asked.max_new_tokens : needs.sequence_length;
  const Captioner captioner(runtime.engine(), model, compute_dtype, needs, *data.tokenizer,
                            std::move(sample));
  return [=, &data, &runtime](std::int64_t max_batches) {
    const std::int64_t of_batches = max_batches > 0 ? max_batches * batch_size : asked.max_samples;
    return caption_metrics(captioner, data.captioned, std::min(asked.max_samples, of_batches),
                           batch_size, runtime.communicator(), runtime.activity());
  };
}

}  // namespace lockstep
