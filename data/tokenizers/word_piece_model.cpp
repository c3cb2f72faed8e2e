#include "data/tokenizers/word_piece_model.h"

#include <algorithm>

#include "data/files/utf8.h"

namespace lockstep {
namespace {

// The time of encoding is quadratic in it.
constexpr std::int32_t kLongestWord = 1000;

}  // namespace

WordPieceModel::WordPieceModel(const JsonPlace& json)
    : TokenModel(json), prefix_(json.string_or("continuing_subword_prefix", "##")) {
  json.allow_only({"vocab", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word"});
  unk_ = need(json, json.string_or("unk_token", "[UNK]"));
  const auto longest = json.find("max_input_chars_per_word");
  longest_word_ = 100;
  if (!longest) return;
  if (longest->number() > kLongestWord) longest->refuse("more than 1000");
  longest_word_ = static_cast<std::size_t>(longest->number());
}

void WordPieceModel::encode(std::string_view word, std::vector<std::int32_t>& out) const {
  const std::size_t before = out.size();
  const auto give_up = [&] {
    out.resize(before);
    out.push_back(unk_);
  };
  if (count_characters(word) > longest_word_) return give_up();
  std::string key;
  for (std::size_t start = 0; start < word.size();) {
    const std::string& prefix = start == 0 ? std::string() : prefix_;
    key = prefix;
    key += word.substr(start);
    std::size_t size = std::min(key.size(), vocabulary().longest_token());
    std::optional<std::int32_t> id;
    while (size > prefix.size() &&
           !(id = vocabulary().id_of(std::string_view(key).substr(0, size))))
      --size;
    if (!id) return give_up();
    out.push_back(*id);
    start += size - prefix.size();
  }
}

}  // namespace lockstep
