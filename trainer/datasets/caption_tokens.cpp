#include "trainer/datasets/caption_tokens.h"

#include <optional>
#include <string_view>

#include "core/base/error.h"

namespace lockstep {
namespace {

/// `given` if it is an id, or else the first of the others that there is.
std::int64_t first_of(std::int64_t given, std::optional<std::int64_t> second,
                      std::optional<std::int64_t> third = std::nullopt) {
  if (given >= 0) return given;
  return second ? *second : third.value_or(-1);
}

void check_found(std::int64_t id, std::string_view role, std::string_view key) {
  LS_USER_CHECK(id >= 0,
                "the tokenizer has no token that {} a text, as captions need: give its id as {}, "
                "or choose another tokenizer",
                role, key);
}

void check_below(std::int64_t id, std::string_view key, std::string_view whose,
                 std::int64_t vocab_size) {
  LS_USER_CHECK(id < vocab_size,
                "token {} ({}, or else the tokenizer's) is not one of the {}'s {} tokens", id, key,
                whose, vocab_size);
}

CaptionFrame checked_frame(const CaptionTokens& ids, std::string_view whose,
                           std::int64_t vocab_size) {
  check_below(ids.end, "model.eos_token_id", whose, vocab_size);
  check_below(ids.start, "model.decoder_start_token_id", whose, vocab_size);
  check_below(ids.pad, "model.pad_token_id", whose, vocab_size);
  return {.start = static_cast<std::int32_t>(ids.start),
          .end = static_cast<std::int32_t>(ids.end),
          .pad = static_cast<std::int32_t>(ids.pad)};
}

}  // namespace

CaptionFrame caption_frame(const DataNeeds& needs, const Tokenizer& tokenizer) {
  const SpecialTokens& known = tokenizer.special();
  CaptionTokens ids = needs.caption;
  ids.start = first_of(ids.start, known.bos, known.eos);
  ids.end = first_of(ids.end, known.eos);
  ids.pad = first_of(ids.pad, known.pad, ids.end);
  check_found(ids.start, "begins or ends", "model.decoder_start_token_id");
  check_found(ids.end, "ends", "model.eos_token_id");
  return needs.vocab_size > 0 ? checked_frame(ids, "model", needs.vocab_size)
                              : checked_frame(ids, "tokenizer", tokenizer.vocab_size());
}

CaptionFrame caption_frame(const DataNeeds& needs) {
  CaptionTokens ids = needs.caption;
  ids.end = first_of(ids.end, needs.vocab_size - 1);
  ids.start = first_of(ids.start, ids.end);
  ids.pad = first_of(ids.pad, ids.end);
  return checked_frame(ids, "model", needs.vocab_size);
}

}  // namespace lockstep
