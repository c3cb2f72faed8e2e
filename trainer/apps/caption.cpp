#include "trainer/apps/caption.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "data/images/image_dataset.h"
#include "data/images/image_folder.h"
#include "data/samples/collate.h"
#include "data/tokenizers/text_stream.h"
#include "trainer/datasets/caption_tokens.h"
#include "trainer/datasets/image_settings.h"
#include "trainer/generation/draw_texts.h"
#include "trainer/generation/search_beams.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMaxImages = 16;  ///< of a batch

using Texts = std::vector<std::string>;

/// The images, resized and scaled as in the run's evaluation.
ImageDataset images_like(const Config& config, const Registry& registry, const SavedFacts& facts,
                         const std::vector<std::string>& paths) {
  const auto* own = registry.at(config.data).part<ImageSettings>(config.data.keys);
  const ImageSettings settings = own != nullptr ? *own : ImageSettings{.of_any_size = true};
  const auto& [channels, height, width] =
      facts.images ? facts.images->shape : registry.needs(config.model).image;
  constexpr std::int64_t kOneClass = 1;  // files have none; all get label 0
  return {std::make_shared<ImageFiles>(paths, settings.limits()),
          for_evaluation(settings.options({channels, height, width}, kOneClass))};
}

/// Images [first, first + count); the last one again where there are no more.
HostBatch read_images(const ImageDataset& images, std::int64_t first, std::int64_t count) {
  std::vector<Sample> samples;
  std::vector<std::int64_t> indices;
  for (std::int64_t i = first; i < first + count; ++i) {
    indices.push_back(std::min(i, images.size() - 1));
    samples.push_back({{"image", images.get(indices.back()).at("image")}});
  }
  std::vector<FieldSpec> fields = images.fields();
  std::erase_if(fields, [](const FieldSpec& field) { return field.name != "image"; });
  return collate(samples, indices, fields, {});
}

class Captions {
 public:
  Captions(const Tokenizer& tokenizer, const SampleConfig& sample, std::int32_t end)
      : tokenizer_(tokenizer), sample_(sample), end_(end) {}

  std::int64_t rows_of_an_image() const {
    return searches() ? sample_.num_beams : sample_.num_samples;
  }
  /// The captions of each row's image; those that beam search finds, the best first.
  std::vector<Texts> of(Continuation& rows, std::int64_t first_row) const {
    std::vector<Texts> out;
    const auto samples = static_cast<std::size_t>(sample_.num_samples);
    if (searches()) {
      const BeamOptions options{sample_.num_beams, sample_.length_penalty, sample_.early_stopping};
      for (const auto& found :
           search_beams(rows, options, sample_.max_new_tokens, tokenizer_.vocab_size(), end_)) {
        out.emplace_back();
        for (std::size_t s = 0; s < samples; ++s) out.back().push_back(text_of(found[s].tokens));
      }
      return out;
    }
    const DrawOptions options{.temperature = sample_.temperature,
                              .top_k = sample_.top_k,
                              .top_p = sample_.top_p,
                              .seed = static_cast<std::uint64_t>(sample_.seed)};
    const auto drawn =
        draw_texts(rows, options, sample_.max_new_tokens, tokenizer_.vocab_size(), end_, first_row);
    for (std::size_t row = 0; row < drawn.size(); ++row) {
      if (row % samples == 0) out.emplace_back();
      out.back().push_back(text_of(drawn[row]));
    }
    return out;
  }

 private:
  bool searches() const { return sample_.num_beams > 1; }
  std::string text_of(const std::vector<std::int32_t>& tokens) const {
    TextStream stream(tokenizer_, {});
    std::string out = sample_.prompt;
    for (const std::int32_t token : tokens)
      if (!tokenizer_.is_special(token)) out += stream.add(token);
    return out + stream.finish();
  }

  const Tokenizer& tokenizer_;
  const SampleConfig& sample_;
  std::int32_t end_;
};

}  // namespace

std::vector<std::int32_t> caption_prompt(const DataNeeds& needs, const Tokenizer& tokenizer,
                                         const std::string& prompt) {
  std::vector<std::int32_t> out{caption_frame(needs, tokenizer).start};
  const std::vector<std::int32_t> words = tokenizer.encode(prompt);
  out.insert(out.end(), words.begin(), words.end());
  return out;
}

void print_captions(Engine& engine, const RestoredModel& restored, const Registry& registry,
                    const SavedFacts& facts, const SampleConfig& sample,
                    const std::vector<std::int32_t>& prompt,
                    const std::vector<std::string>& images) {
  const Config& config = facts.config;
  const DataNeeds needs = registry.needs(config.model);
  const ImageDataset dataset = images_like(config, registry, facts, images);
  const Captions captions(*facts.tokenizer, sample, caption_frame(needs, *facts.tokenizer).end);
  const std::int64_t batch = std::min(dataset.size(), kMaxImages);
  const std::int64_t each = captions.rows_of_an_image();
  for (std::int64_t first = 0; first < dataset.size(); first += batch) {
    Continuation rows(engine, *restored.model, restored.state.compute_dtype, needs.sequence_length,
                      prompt, batch * each);
    rows.remember(read_images(dataset, first, batch));
    const std::vector<Texts> found = captions.of(rows, first * each);
    for (std::int64_t i = 0; i < batch && first + i < dataset.size(); ++i)
      for (const std::string& text : found[static_cast<std::size_t>(i)])
        fmt::print("{}: {}\n", dataset.source(first + i), text);
  }
}

}  // namespace lockstep
