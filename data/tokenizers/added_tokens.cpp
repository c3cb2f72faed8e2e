#include "data/tokenizers/added_tokens.h"

#include <algorithm>

#include "core/base/error.h"
#include "data/files/utf8.h"
#include "data/tokenizers/unicode.h"

namespace lockstep {
namespace {

// A search takes their length at each place of a text.
constexpr std::size_t kLongestToken = 1024;

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

/// Start of the character that ends at `end`.
std::size_t last_character(std::string_view text, std::size_t end) {
  std::size_t at = end - 1;
  while (at > 0 && end - at < 4 && is_continuation(text[at])) --at;
  return at;
}

bool holds_at(bool (*property)(char32_t), std::string_view text, std::size_t at) {
  const auto character = decode_utf8(text, at);
  return character && property(character->code_point);
}

AddedToken read_token(const JsonPlace& json) {
  json.allow_only({"id", "content", "special", "normalized", "lstrip", "rstrip", "single_word"});
  AddedToken out{.id = json.at("id").number(),
                 .content = json.at("content").string(),
                 .special = json.boolean_or("special", false),
                 .normalized = json.boolean_or("normalized", true),
                 .lstrip = json.boolean_or("lstrip", false),
                 .rstrip = json.boolean_or("rstrip", false),
                 .single_word = json.boolean_or("single_word", false)};
  if (out.content.empty() || out.content.size() > kLongestToken)
    json.refuse("an added token has 1 to 1024 bytes");
  return out;
}

}  // namespace

void TokenFinder::add(std::string_view pattern, const AddedToken& token) {
  if (pattern.empty()) return;
  std::uint32_t node = 0;
  for (const char byte : pattern) {
    const auto next = static_cast<std::uint32_t>(edges_.size() + 1);
    const std::uint64_t edge = std::uint64_t{node} << 8 | static_cast<unsigned char>(byte);
    node = edges_.try_emplace(edge, next).first->second;
  }
  begins_[static_cast<unsigned char>(pattern[0])] = true;
  rules_.insert_or_assign(node, Rule{token.id, token.lstrip, token.rstrip, token.single_word});
}

std::pair<std::size_t, const TokenFinder::Rule*> TokenFinder::match(std::string_view text,
                                                                    std::size_t at) const {
  std::pair<std::size_t, const Rule*> best = {0, nullptr};
  std::uint32_t node = 0;
  for (std::size_t i = at; i < text.size(); ++i) {
    const auto edge = edges_.find(std::uint64_t{node} << 8 | static_cast<unsigned char>(text[i]));
    if (edge == edges_.end()) break;
    node = edge->second;
    if (const auto rule = rules_.find(node); rule != rules_.end())
      best = {i + 1 - at, &rule->second};
  }
  return best;
}

std::vector<TokenFinder::Part> TokenFinder::split(std::string_view text) const {
  std::vector<Part> out;
  std::size_t done = 0;  // text before it is already in `out`
  std::size_t at = 0;
  while (!rules_.empty() && at < text.size()) {
    if (!begins_[static_cast<unsigned char>(text[at])]) {
      ++at;
      continue;
    }
    const auto [size, rule] = match(text, at);
    if (rule == nullptr) {
      ++at;
      continue;
    }
    std::size_t begin = at;
    std::size_t end = at + size;
    at = end;
    const bool within_word =
        (begin > 0 && holds_at(is_word_character, text, last_character(text, begin))) ||
        (end < text.size() && holds_at(is_word_character, text, end));
    if (rule->single_word && within_word) continue;
    if (rule->lstrip)
      while (begin > done && holds_at(is_white_space, text, last_character(text, begin)))
        begin = last_character(text, begin);
    if (rule->rstrip)
      while (end < text.size() && holds_at(is_white_space, text, end))
        // NOLINTNEXTLINE(bugprone-unchecked-optional-access): holds_at() has decoded it
        end += decode_utf8(text, end)->bytes;
    if (done < begin) out.push_back({text.substr(done, begin - done), -1});
    out.push_back({text.substr(begin, end - begin), rule->id});
    done = std::max(done, end);
  }
  if (done < text.size()) out.push_back({text.substr(done), -1});
  return out;
}

AddedTokens::AddedTokens(const JsonPlace* json, const Vocabulary& vocabulary,
                         const Normalizer* normalizer) {
  if (json == nullptr) return;
  for (const JsonPlace& one : json->elements()) {
    const AddedToken token = read_token(one);
    const auto known = vocabulary.id_of(token.content);
    if (known && *known != token.id)
      one.refuse(fmt::format("\"{}\" has id {}, but {} in the model's vocabulary", token.content,
                             token.id, *known));
    if (!known && vocabulary.token(token.id) != nullptr)
      one.refuse(fmt::format("\"{}\" has id {}, which is that of \"{}\"", token.content, token.id,
                             *vocabulary.token(token.id)));
    if (!by_id_.emplace(token.id, list_.size()).second ||
        !by_content_.emplace(token.content, list_.size()).second)
      one.refuse(fmt::format("\"{}\" or its id {} is there twice", token.content, token.id));
    check_ids(token.id, vocabulary.size() + list_.size() + 1, one);
    if (token.normalized) {
      normalized_.add(normalizer == nullptr ? token.content : normalizer->apply(token.content),
                      token);
    } else {
      original_.add(token.content, token);
    }
    list_.push_back(token);
  }
}

const AddedToken* AddedTokens::find(std::int32_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &list_[found->second];
}

const AddedToken* AddedTokens::find(std::string_view content) const {
  const auto found = by_content_.find(content);
  return found == by_content_.end() ? nullptr : &list_[found->second];
}

}  // namespace lockstep
