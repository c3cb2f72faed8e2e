#include "trainer/apps/sample_texts.h"

#include <algorithm>
#include <span>

#include "core/base/error.h"
#include "data/files/utf8.h"
#include "data/tokenizers/text_stream.h"
#include "trainer/generation/continuation.h"
#include "trainer/generation/draw.h"
#include "trainer/generation/search_beams.h"

namespace lockstep {
namespace {

/// The prompt's tokens; for an empty prompt, the token that begins a text, or else the token that
/// ends one.
std::vector<std::int32_t> prompt_tokens(const Tokenizer& tokenizer, const std::string& prompt) {
  std::vector<std::int32_t> out = tokenizer.encode(prompt);
  if (!out.empty()) return out;
  const SpecialTokens& special = tokenizer.special();
  const std::optional<std::int32_t> first = special.bos ? special.bos : special.eos;
  LS_USER_CHECK(first.has_value(),
                "the prompt is empty, and the tokenizer has no token that begins or ends a text: "
                "give at least one character (--prompt)");
  return {*first};
}

/// The text that begins the display of a continuation, token by token.
TextStream stream_after(const Tokenizer& tokenizer, const std::vector<std::int32_t>& prompt,
                        const SampleConfig& sample) {
  return TextStream(tokenizer,
                    sample.prompt.empty() ? std::span<const std::int32_t>() : std::span(prompt));
}

}  // namespace

void check_prompt(const Tokenizer& tokenizer, const std::string& prompt) {
  prompt_tokens(tokenizer, prompt);
}

SampledTexts TextSampler::texts(const std::function<void(const std::string&)>& on_text) const {
  const std::vector<std::int32_t> prompt = prompt_tokens(tokenizer_, sample_.prompt);
  if (sample_.num_beams > 1) return searched(prompt);
  return {drawn(prompt, on_text)};
}

/// Draws tokens until every sample has ended or has the maximum number.
std::vector<std::string> TextSampler::drawn(
    const std::vector<std::int32_t>& prompt,
    const std::function<void(const std::string&)>& on_text) const {
  Continuation samples(engine_, model_, compute_dtype_, context_, prompt, sample_.num_samples);
  const DrawOptions draw{.temperature = sample_.temperature,
                         .top_k = sample_.top_k,
                         .top_p = sample_.top_p,
                         .seed = static_cast<std::uint64_t>(sample_.seed)};
  const auto count = static_cast<std::size_t>(samples.samples());
  std::vector<std::string> texts(count, valid_utf8(sample_.prompt));
  std::vector<std::int32_t> next(count, 0);
  std::vector<bool> ended(count, false);
  std::vector<TextStream> streams;
  streams.reserve(count);
  for (std::size_t s = 0; s < count; ++s)
    streams.push_back(stream_after(tokenizer_, prompt, sample_));
  const auto tell = [&](std::size_t s, const std::string& text) {
    texts[s] += text;
    if (count == 1 && on_text) on_text(text);
  };
  if (count == 1 && on_text) on_text(texts[0]);
  for (std::int64_t i = 0; i < sample_.max_new_tokens; ++i) {
    const std::vector<float> logits = samples.next_logits();
    const std::size_t width = logits.size() / count;
    // A padded vocabulary has rows without tokens.
    const std::size_t known = std::min(width, static_cast<std::size_t>(tokenizer_.vocab_size()));
    for (std::size_t s = 0; s < count; ++s) {
      next[s] = draw_token(std::span(logits).subspan(s * width, known), draw, s,
                           static_cast<std::uint64_t>(samples.size()));
      ended[s] = ended[s] || tokenizer_.special().eos == next[s];
      if (ended[s]) continue;
      tell(s, streams[s].add(next[s]));
    }
    if (std::ranges::find(ended, false) == ended.end()) break;
    samples.append(next);
  }
  for (std::size_t s = 0; s < count; ++s) tell(s, streams[s].finish());
  return texts;
}

/// The best texts that beam search finds, the best first.
SampledTexts TextSampler::searched(const std::vector<std::int32_t>& prompt) const {
  const std::int64_t length =
      search_length(context_, static_cast<std::int64_t>(prompt.size()), sample_.max_new_tokens);
  Continuation beams(engine_, model_, compute_dtype_, length, prompt, sample_.num_beams);
  const std::int64_t room = beams.room();
  const std::vector<std::vector<Hypothesis>> found =
      search_beams(beams, {sample_.num_beams, sample_.length_penalty, sample_.early_stopping},
                   sample_.max_new_tokens, tokenizer_.vocab_size(), tokenizer_.special().eos);
  SampledTexts out;
  for (const Hypothesis& one :
       std::span(found[0]).first(static_cast<std::size_t>(sample_.num_samples))) {
    TextStream stream = stream_after(tokenizer_, prompt, sample_);
    out.texts.push_back(valid_utf8(sample_.prompt));
    for (const std::int32_t token : one.tokens) out.texts.back() += stream.add(token);
    out.texts.back() += stream.finish();
    if (!one.ended && room < sample_.max_new_tokens) out.full_after = room;
  }
  return out;
}

}  // namespace lockstep
