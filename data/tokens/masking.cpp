#include "data/tokens/masking.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/rng.h"
#include "data/tokens/document_dataset.h"

namespace lockstep {
namespace {

constexpr double kMasked = 0.8;
constexpr double kMaskedOrRandom = 0.9;
constexpr std::size_t kWords = 3;  ///< random words per token: chosen? how replaced? by which?

/// 3 random words for each token of a sample.
std::vector<std::uint32_t> words_of(std::int64_t index, const DrawKey& key, std::size_t tokens) {
  std::vector<std::uint32_t> out(kWords * tokens);
  const RngKey rng{.seed = key.seed,
                   .stream = rng_stream("masked tokens", static_cast<std::uint64_t>(index)),
                   .step = key.epoch ? static_cast<std::uint64_t>(*key.epoch) + 1 : 0};
  random_bits(rng, 0, out);
  return out;
}

bool at(const std::vector<bool>& table, std::int32_t token) {
  return static_cast<std::size_t>(token) < table.size() && table[static_cast<std::size_t>(token)];
}

}  // namespace

MaskVocabulary MaskVocabulary::of(const Tokenizer& tokenizer) {
  const auto mask = tokenizer.special().mask;
  LS_USER_CHECK(mask.has_value(),
                "the tokenizer has no mask token, which a masked language model needs");
  MaskVocabulary out{.mask = *mask, .size = tokenizer.vocab_size()};
  for (std::int32_t id = 0; id < out.size; ++id) {
    out.special.push_back(tokenizer.is_special(id));
    out.continues_word.push_back(tokenizer.continues_word(id));
  }
  return out;
}

MaskedDataset::MaskedDataset(DatasetPtr whole, MaskVocabulary vocabulary, const Masking& masking)
    : whole_(std::move(whole)), vocabulary_(std::move(vocabulary)), masking_(masking) {
  LS_USER_CHECK(masking.probability > 0 && masking.probability <= 1,
                "the probability of masking must be above 0 and at most 1, not {}",
                masking.probability);
}

std::vector<FieldSpec> MaskedDataset::fields() const {
  std::vector<FieldSpec> out = whole_->fields();
  std::erase_if(out, [](const FieldSpec& field) { return field.name == "targets"; });
  const auto tokens = std::ranges::find(out, "tokens", &FieldSpec::name);
  LS_CHECK(tokens != out.end(), "{} has no tokens to mask", whole_->describe());
  FieldSpec targets = *tokens;
  targets.name = "targets";
  targets.pad_value = kNoTarget;
  out.push_back(std::move(targets));
  return out;
}

Sample MaskedDataset::draw(std::int64_t index, const DrawKey& key) const {
  Sample out = whole_->draw(index, key);
  const Shape shape = out.at("tokens").shape();
  const auto given = std::as_const(out.at("tokens")).as<const std::int32_t>();
  std::vector<std::int32_t> tokens(given.begin(), given.end());
  std::vector<std::int32_t> targets(tokens.size(), kNoTarget);
  const std::vector<std::uint32_t> words = words_of(index, key, tokens.size());
  bool chosen = false;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::int32_t token = given[i];
    if (at(vocabulary_.special, token)) {
      chosen = false;  // nothing continues the word of a special token
      continue;
    }
    // A word is chosen together with its first token.
    const bool goes_on = masking_.whole_words && i > 0 && !at(vocabulary_.special, given[i - 1]) &&
                         at(vocabulary_.continues_word, token);
    if (!goes_on) chosen = uniform_from_bits(words[kWords * i]) < masking_.probability;
    if (!chosen) continue;
    targets[i] = token;
    const double what = uniform_from_bits(words[kWords * i + 1]);
    if (what < kMasked) {
      tokens[i] = vocabulary_.mask;
    } else if (what < kMaskedOrRandom) {
      const std::uint64_t scaled =
          words[kWords * i + 2] * static_cast<std::uint64_t>(vocabulary_.size);
      tokens[i] = static_cast<std::int32_t>(scaled >> 32);
    }
  }
  out.insert_or_assign("tokens", HostTensor::of(shape, tokens));
  out.insert_or_assign("targets", HostTensor::of(shape, targets));
  return out;
}

std::map<std::string, std::int64_t> MaskedDataset::lengths(std::int64_t index) const {
  auto out = whole_->lengths(index);
  if (const auto tokens = out.find("tokens"); tokens != out.end()) out["targets"] = tokens->second;
  return out;
}

std::string MaskedDataset::describe() const {
  return fmt::format("{}, {:.15g} % of {} masked", whole_->describe(), 100 * masking_.probability,
                     masking_.whole_words ? "words" : "tokens");
}

}  // namespace lockstep
