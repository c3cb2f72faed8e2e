#include "trainer/apps/captioner.h"

#include <algorithm>
#include <utility>

#include "data/files/utf8.h"
#include "data/samples/collate.h"
#include "data/tokenizers/text_stream.h"
#include "trainer/datasets/caption_tokens.h"
#include "trainer/generation/draw_texts.h"
#include "trainer/generation/search_beams.h"

namespace lockstep {

Captioner::Captioner(Engine& engine, const Model& model, DType compute_dtype,
                     const DataNeeds& needs, const Tokenizer& tokenizer, SampleConfig sample)
    : engine_(engine),
      model_(model),
      compute_dtype_(compute_dtype),
      length_(needs.sequence_length),
      tokenizer_(tokenizer),
      sample_(std::move(sample)) {
  const CaptionFrame frame = caption_frame(needs, tokenizer);
  end_ = frame.end;
  prompt_ = {frame.start};
  const std::vector<std::int32_t> words = tokenizer.encode(sample_.prompt);
  prompt_.insert(prompt_.end(), words.begin(), words.end());
}

std::string Captioner::text_of(const std::vector<std::int32_t>& tokens) const {
  TextStream stream(tokenizer_, std::span(prompt_).subspan(1));
  std::string out = valid_utf8(sample_.prompt);
  for (const std::int32_t token : tokens)
    if (!tokenizer_.is_special(token)) out += stream.add(token);
  return out + stream.finish();
}

std::vector<std::vector<std::string>> Captioner::captions(HostBatch inputs,
                                                          std::int64_t first) const {
  const std::int64_t images = inputs.at("image").shape()[0];
  const std::int64_t each = searches() ? sample_.num_beams : sample_.num_samples;
  const std::int64_t length =
      searches() ? search_length(length_, static_cast<std::int64_t>(prompt_.size()),
                                 sample_.max_new_tokens)
                 : length_;
  Continuation rows(engine_, model_, compute_dtype_, length, prompt_, images * each);
  rows.remember(std::move(inputs));
  std::vector<std::vector<std::string>> out(static_cast<std::size_t>(images));
  const auto samples = static_cast<std::size_t>(sample_.num_samples);
  if (searches()) {
    const BeamOptions options{sample_.num_beams, sample_.length_penalty, sample_.early_stopping};
    const auto found =
        search_beams(rows, options, sample_.max_new_tokens, tokenizer_.vocab_size(), end_);
    for (std::size_t i = 0; i < out.size(); ++i)
      for (std::size_t s = 0; s < samples; ++s) out[i].push_back(text_of(found[i][s].tokens));
    return out;
  }
  const DrawOptions options{.temperature = sample_.temperature,
                            .top_k = sample_.top_k,
                            .top_p = sample_.top_p,
                            .seed = static_cast<std::uint64_t>(sample_.seed)};
  const auto drawn = draw_texts(rows, options, sample_.max_new_tokens, tokenizer_.vocab_size(),
                                end_, first * each);
  for (std::size_t row = 0; row < drawn.size(); ++row)
    out[row / samples].push_back(text_of(drawn[row]));
  return out;
}

ImageBatch image_batch(const Dataset& images, std::int64_t first, std::int64_t count) {
  ImageBatch out;
  std::vector<Sample> samples;
  std::vector<std::int64_t> indices;
  for (std::int64_t i = first; i < first + count; ++i) {
    std::vector<std::string> reasons;
    indices.push_back(std::min(i, images.size() - 1));
    Sample sample = images.draw(indices.back(), {.skipped = &reasons});
    samples.push_back({{"image", sample.at("image")}});
    out.skipped.push_back(reasons.empty() ? "" : reasons.front());
  }
  std::vector<FieldSpec> fields = images.fields();
  std::erase_if(fields, [](const FieldSpec& field) { return field.name != "image"; });
  out.fields = collate(samples, indices, fields, {});
  return out;
}

}  // namespace lockstep
