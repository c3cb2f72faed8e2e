#include "data/tokenizers/tokenizer_training.h"

#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "data/files/utf8.h"
#include "data/tokenizers/byte_level.h"
#include "data/tokenizers/merge_training.h"
#include "data/tokenizers/normalizer.h"
#include "data/tokenizers/pre_tokenizer.h"
#include "data/tokenizers/tokenizer_documents.h"

namespace lockstep {
namespace {

constexpr const char* kPrefix = "##";
constexpr std::size_t kMaxCharacters = 1000;
// Text is cut into words by so many bytes at a time, and ends with a line.
constexpr std::size_t kCutBytes = std::size_t{4} << 20;

std::vector<std::string> characters_of(std::string_view word) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < word.size();) {
    const auto character = decode_utf8(word, at);
    const std::size_t bytes = character ? character->bytes : 1;
    out.emplace_back(word.substr(at, bytes));
    at += bytes;
  }
  return out;
}

std::size_t end_of_chunk(std::string_view text, std::size_t begin) {
  if (text.size() - begin <= kCutBytes) return text.size();
  const std::size_t line_end = text.find('\n', begin + kCutBytes);
  return line_end == text.npos ? text.size() : line_end + 1;
}

/// Collects tokens and their ids.
struct TokenList {
  std::vector<std::string> tokens;
  std::map<std::string, std::int32_t> ids;

  void add(const std::string& token) {
    if (ids.emplace(token, static_cast<std::int32_t>(tokens.size())).second)
      tokens.push_back(token);
  }
};

}  // namespace

TokenizerTrainer::TokenizerTrainer(TrainingOptions options) : options_(options) {}

void TokenizerTrainer::add(const std::string& name, std::string_view text) {
  const bool is_bpe = options_.kind == TrainedKind::kBpe;
  if (const std::size_t valid = end_of_utf8(text, 0); !is_bpe && valid != text.size())
    raise(ErrorKind::kData, "{}: byte 0x{:02X} at offset {} is not UTF-8; WordPiece needs UTF-8",
          name, static_cast<unsigned char>(text[valid]), valid);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = end_of_chunk(text, at);
    while (at < end) {
      const std::size_t valid_end = end_of_utf8(text.substr(0, end), at);
      count_words(text.substr(at, valid_end - at));
      at = valid_end;
      while (at < end && !decode_utf8(text.substr(0, end), at)) ++at;  // bytes of no character
    }
  }
}

void TokenizerTrainer::count_words(std::string_view text) {
  if (text.empty()) return;
  const bool is_bpe = options_.kind == TrainedKind::kBpe;
  static const WordCutter kGpt2 = make_pre_tokenizer(
      JsonPlace::parse(R"({"type": "ByteLevel", "add_prefix_space": false})", "GPT-2"));
  static const WordCutter kBert =
      make_pre_tokenizer(JsonPlace::parse(R"({"type": "BertPreTokenizer"})", "BERT"));
  Words words;
  if (is_bpe) {
    words.list.push_back({text, true});
  } else {
    const auto normalizer = make_normalizer(JsonPlace::parse(
        fmt::format(R"({{"type": "BertNormalizer", "lowercase": {}}})", options_.lowercase),
        "BERT"));
    words.list.push_back({words.keep(normalizer->apply(std::string(text))), true});
  }
  (is_bpe ? kGpt2 : kBert).cut->apply(words);
  for (const Word& word : words.list) {
    const auto found = counts_.find(word.text);
    if (found != counts_.end()) {
      ++found->second;
    } else {
      counts_.emplace(word.text, 1);
    }
  }
}

std::vector<std::pair<std::string, std::int64_t>> TokenizerTrainer::sorted_words() const {
  std::vector<std::pair<std::string, std::int64_t>> out(counts_.begin(), counts_.end());
  std::ranges::sort(out);
  return out;
}

void TokenizerTrainer::check_vocab_size(std::size_t needed) const {
  LS_USER_CHECK(options_.vocab_size >= static_cast<std::int64_t>(needed),
                "a vocabulary of {} is too small: special tokens and characters alone are {}",
                options_.vocab_size, needed);
}

TokenizerPtr TokenizerTrainer::train() const {
  return options_.kind == TrainedKind::kBpe ? train_bpe() : train_word_piece();
}

TokenizerPtr TokenizerTrainer::train_bpe() const {
  TokenList list;
  list.add("<|endoftext|>");
  std::vector<std::string> alphabet;
  alphabet.reserve(256);
  for (unsigned byte = 0; byte < 256; ++byte)
    alphabet.push_back(byte_level_symbol(static_cast<std::uint8_t>(byte)));
  std::ranges::sort(alphabet);  // as UTF-8, so by code point
  for (const std::string& symbol : alphabet) list.add(symbol);
  check_vocab_size(list.tokens.size());

  std::vector<CountedWord> words;
  for (const auto& [word, count] : sorted_words()) {
    CountedWord& counted = words.emplace_back(CountedWord{{}, count});
    for (const char byte : word)
      counted.tokens.push_back(list.ids.at(byte_level_symbol(static_cast<std::uint8_t>(byte))));
  }
  const TrainedMerges trained =
      train_merges({.tokens = std::move(list.tokens),
                    .words = std::move(words),
                    .vocab_size = static_cast<std::size_t>(options_.vocab_size),
                    .min_frequency = options_.min_frequency});
  TokenIds ids;
  for (std::size_t i = 0; i < trained.tokens.size(); ++i)
    ids.emplace(trained.tokens[i], static_cast<std::int32_t>(i));
  return tokenizer_of_document(byte_level_document(ids, trained.merges), "the trained tokenizer");
}

TokenizerPtr TokenizerTrainer::train_word_piece() const {
  const auto counted_words = sorted_words();
  std::map<std::string, std::int64_t> frequency;
  for (const auto& [word, count] : counted_words)
    for (const std::string& character : characters_of(word)) frequency[character] += count;
  std::vector<std::pair<std::string, std::int64_t>> kept(frequency.begin(), frequency.end());
  std::ranges::stable_sort(kept, std::greater<>(), [](const auto& one) { return one.second; });
  if (kept.size() > kMaxCharacters) kept.resize(kMaxCharacters);
  std::ranges::sort(kept);

  TokenList list;
  for (const char* special : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) list.add(special);
  for (const auto& [character, count] : kept) list.add(character);
  const std::size_t first_continuing = list.tokens.size();
  for (const auto& [character, count] : kept) list.add(kPrefix + character);
  // Only those inside a word: counted below, and otherwise left out.
  std::vector<bool> used(list.tokens.size(), false);
  std::vector<CountedWord> words;
  for (const auto& [word, count] : counted_words) {
    CountedWord counted{{}, count};
    for (const std::string& character : characters_of(word)) {
      const bool first = counted.tokens.empty();
      const auto id = list.ids.find(first ? character : kPrefix + character);
      if (id == list.ids.end()) break;  // a rare character: the word is [UNK] anyway
      counted.tokens.push_back(id->second);
      used[static_cast<std::size_t>(id->second)] = true;
    }
    words.push_back(std::move(counted));
  }
  std::vector<std::int32_t> new_ids;
  std::vector<std::string> tokens;
  for (std::size_t i = 0; i < list.tokens.size(); ++i) {
    new_ids.push_back(static_cast<std::int32_t>(tokens.size()));
    if (i < first_continuing || used[i]) tokens.push_back(list.tokens[i]);
  }
  for (CountedWord& word : words)
    for (std::int32_t& id : word.tokens) id = new_ids[static_cast<std::size_t>(id)];
  check_vocab_size(tokens.size());
  const TrainedMerges trained =
      train_merges({.tokens = std::move(tokens),
                    .words = std::move(words),
                    .continuing_prefix = kPrefix,
                    .vocab_size = static_cast<std::size_t>(options_.vocab_size),
                    .min_frequency = options_.min_frequency});
  return tokenizer_of_document(word_piece_document(trained.tokens, options_.lowercase),
                               "the trained tokenizer");
}

}  // namespace lockstep
