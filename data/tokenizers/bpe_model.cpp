#include "data/tokenizers/bpe_model.h"

#include <bit>
#include <queue>

#include "core/base/error.h"
#include "data/files/utf8.h"

namespace lockstep {
namespace {

std::pair<std::string, std::string> pair_of(const JsonPlace& json) {
  if (!json.is_string()) {
    const auto parts = json.elements();
    if (parts.size() != 2) json.refuse("a merge is two tokens");
    return {parts[0].string(), parts[1].string()};
  }
  const std::string text = json.string();
  const std::size_t space = text.find(' ');
  const bool one_space = space != text.npos && text.find(' ', space + 1) == text.npos;
  if (!one_space || space == 0 || space + 1 == text.size())
    json.refuse(fmt::format("a merge is two tokens with a space between, not \"{}\"", text));
  return {text.substr(0, space), text.substr(space + 1)};
}

/// A token of a word that is being merged; tokens form a doubly linked list.
struct Link {
  std::int32_t token;
  std::int64_t previous;
  std::int64_t next;
};

}  // namespace

BpeModel::BpeModel(const JsonPlace& json)
    : TokenModel(json),
      prefix_(json.string_or("continuing_subword_prefix", "")),
      suffix_(json.string_or("end_of_word_suffix", "")),
      fuse_unk_(json.boolean_or("fuse_unk", false)),
      byte_fallback_(json.boolean_or("byte_fallback", false)),
      ignore_merges_(json.boolean_or("ignore_merges", false)) {
  json.allow_only({"vocab", "merges", "unk_token", "continuing_subword_prefix",
                   "end_of_word_suffix", "fuse_unk", "byte_fallback", "ignore_merges", "dropout"});
  if (json.find("dropout")) json.refuse("'dropout' is not supported: encoding is not random here");
  if (const auto unk = json.find("unk_token")) unk_ = need(*unk, unk->string());
  index_characters();
  read_merges(json.at("merges"));
}

void BpeModel::index_characters() {
  early_.fill(-1);
  for (char32_t character = 0; character < early_.size(); ++character) {
    std::string text;
    append_utf8(text, character);
    early_[character] = vocabulary().id_of(text).value_or(-1);
  }
  for (unsigned byte = 0; byte < bytes_.size(); ++byte)
    bytes_[byte] = vocabulary().id_of(fmt::format("<0x{:02X}>", byte)).value_or(-1);
}

void BpeModel::read_merges(const JsonPlace& json) {
  const std::vector<JsonPlace> list = json.elements();
  slots_.resize(std::bit_ceil(2 * list.size() + 2), kNoMerge);
  merges_.reserve(list.size());
  for (const JsonPlace& one : list) {
    const auto [left, right] = pair_of(one);
    if (!right.starts_with(prefix_))
      one.refuse(fmt::format("\"{}\" does not begin with the prefix \"{}\"", right, prefix_));
    const Merge merge{need(one, left), need(one, right),
                      need(one, left + right.substr(prefix_.size()))};
    std::uint32_t& slot = slots_[slot_of(merge.left, merge.right)];
    if (slot != kNoMerge) one.refuse(fmt::format("the merge \"{} {}\" comes twice", left, right));
    slot = static_cast<std::uint32_t>(merges_.size());
    merges_.push_back(merge);
  }
}

std::size_t BpeModel::slot_of(std::int32_t left, std::int32_t right) const {
  constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio
  const auto pair =
      std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  const std::uint64_t spread = pair * kSpread;
  for (std::size_t at = spread ^ spread >> 32;; ++at) {
    at &= slots_.size() - 1;
    if (slots_[at] == kNoMerge) return at;
    const Merge& merge = merges_[slots_[at]];
    if (merge.left == left && merge.right == right) return at;
  }
}

std::uint32_t BpeModel::find_merge(std::int32_t left, std::int32_t right) const {
  return slots_[slot_of(left, right)];
}

std::optional<std::int32_t> BpeModel::character_id(std::string_view character, bool first,
                                                   bool last) const {
  if (prefix_.empty() && suffix_.empty()) return vocabulary().id_of(character);
  std::string text(character);
  if (!first) text.insert(0, prefix_);
  if (last) text += suffix_;
  return vocabulary().id_of(text);
}

bool BpeModel::append_bytes(std::string_view character, std::vector<std::int32_t>& out) const {
  if (!byte_fallback_) return false;
  const std::size_t size = out.size();
  for (const char byte : character) {
    const std::int32_t id = bytes_[static_cast<unsigned char>(byte)];
    if (id < 0) {
      out.resize(size);
      return false;
    }
    out.push_back(id);
  }
  return true;
}

void BpeModel::append_characters(std::string_view word, std::vector<std::int32_t>& out) const {
  const bool plain = prefix_.empty() && suffix_.empty();
  bool unk_waits = false;  // an unk token that following unknown characters can join
  const auto put = [&](std::int32_t id) {
    if (unk_waits) out.push_back(*unk_);
    unk_waits = false;
    out.push_back(id);
  };
  for (std::size_t at = 0; at < word.size();) {
    const auto byte = static_cast<unsigned char>(word[at]);
    if (plain && byte < 0x80 && early_[byte] >= 0) {
      put(early_[byte]);
      ++at;
      continue;
    }
    const auto character = decode_utf8(word, at);
    LS_CHECK(character.has_value(), "a word that is not UTF-8");
    const std::string_view text = word.substr(at, character->bytes);
    const bool first = at == 0;
    const bool last = at + text.size() == word.size();
    const bool is_early = plain && character->code_point < early_.size();
    const std::int32_t id =
        is_early ? early_[character->code_point] : character_id(text, first, last).value_or(-1);
    if (id >= 0) {
      put(id);
    } else if (append_bytes(
                   plain ? text
                         : (first ? "" : prefix_) + std::string(text) + (last ? suffix_ : ""),
                   out)) {
    } else if (unk_) {
      if (unk_waits && !fuse_unk_) out.push_back(*unk_);
      unk_waits = true;
    } else {
      throw UnknownCharacter{character->code_point, at};
    }
    at += text.size();
  }
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): `unk_` waits
  if (unk_waits) out.push_back(*unk_);
}

void BpeModel::encode(std::string_view word, std::vector<std::int32_t>& out) const {
  if (ignore_merges_) {
    if (const auto id = vocabulary().id_of(word)) {
      out.push_back(*id);
      return;
    }
  }
  if (merges_.empty()) {
    append_characters(word, out);
    return;
  }
  std::vector<std::int32_t> tokens;
  tokens.reserve(word.size());
  append_characters(word, tokens);
  merge(tokens);
  out.insert(out.end(), tokens.begin(), tokens.end());
}

void BpeModel::merge(std::vector<std::int32_t>& tokens) const {
  const auto size = static_cast<std::int64_t>(tokens.size());
  std::vector<Link> links(tokens.size());
  for (std::int64_t i = 0; i < size; ++i)
    links[static_cast<std::size_t>(i)] = {tokens[static_cast<std::size_t>(i)], i - 1, i + 1};
  const auto link = [&](std::int64_t i) -> Link& { return links[static_cast<std::size_t>(i)]; };

  // A queue of candidate pairs, by rank, then from left to right, keeps long words (a megabyte of
  // one letter) from taking quadratic time. Candidates that a merge has made stale are skipped.
  using Candidate = std::pair<std::uint32_t, std::int64_t>;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  const auto consider = [&](std::int64_t left) {
    if (left < 0 || link(left).next >= size) return;
    const std::uint32_t rank = find_merge(link(left).token, link(link(left).next).token);
    if (rank != kNoMerge) candidates.emplace(rank, left);
  };
  for (std::int64_t i = 0; i < size; ++i) consider(i);
  while (!candidates.empty()) {
    const auto [rank, left] = candidates.top();
    candidates.pop();
    const Merge& merge = merges_[rank];
    const std::int64_t right = link(left).next;
    if (link(left).token != merge.left || right >= size || link(right).token != merge.right)
      continue;
    link(left).token = merge.merged;
    link(left).next = link(right).next;
    if (link(right).next < size) link(link(right).next).previous = left;
    link(right).token = -1;  // removed
    consider(link(left).previous);
    consider(left);
  }
  tokens.clear();
  for (std::int64_t i = 0; i < size; i = link(i).next) tokens.push_back(link(i).token);
}

}  // namespace lockstep
