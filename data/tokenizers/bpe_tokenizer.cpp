#include "data/tokenizers/bpe_tokenizer.h"

#include <nlohmann/json.hpp>
#include <queue>
#include <tuple>

#include "core/base/error.h"
#include "data/files/read_text.h"
#include "data/tokenizers/byte_level.h"

namespace lockstep {
namespace {

constexpr std::string_view kEndOfText = "<|endoftext|>";

std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
}

BpeTokenizer::Vocabulary read_vocabulary(const std::string& path) {
  try {
    return nlohmann::json::parse(read_text(path)).get<BpeTokenizer::Vocabulary>();
  } catch (const nlohmann::json::parse_error& error) {
    raise(ErrorKind::kData, "{}: not valid JSON at byte {}", path, error.byte);
  } catch (const nlohmann::json::exception&) {
    raise(ErrorKind::kData, "{}: not a vocabulary, which is one object of \"token\": id", path);
  }
}

std::vector<BpeTokenizer::Pair> read_merges(const std::string& path) {
  const std::string text = read_text(path);
  std::vector<BpeTokenizer::Pair> out;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
    const std::size_t space = line.find(' ');
    const bool one_space = space != line.npos && line.find(' ', space + 1) == line.npos;
    if (!one_space || space == 0 || space + 1 == line.size()) {
      raise(ErrorKind::kData, "{}:{}: a merge is two tokens with a space between, not \"{}\"", path,
            number, line);
    }
    out.emplace_back(line.substr(0, space), line.substr(space + 1));
  }
  return out;
}

/// A token of a word that is being merged; tokens form a doubly linked list.
struct Link {
  std::int32_t token;
  std::int64_t previous;
  std::int64_t next;
};

}  // namespace

BpeTokenizer::BpeTokenizer(const std::string& name, Vocabulary vocabulary, std::vector<Pair> merges)
    : vocabulary_(std::move(vocabulary)), merges_(std::move(merges)) {
  index_vocabulary(name);
  index_merges(name);
}

std::shared_ptr<const BpeTokenizer> BpeTokenizer::from_files(const std::string& vocab_path,
                                                             const std::string& merges_path) {
  auto vocabulary = read_vocabulary(vocab_path);
  return std::make_shared<BpeTokenizer>(vocab_path + " and " + merges_path, std::move(vocabulary),
                                        read_merges(merges_path));
}

void BpeTokenizer::index_vocabulary(const std::string& name) {
  bytes_of_.resize(vocabulary_.size());
  tokens_.resize(vocabulary_.size());
  std::vector<bool> taken(vocabulary_.size(), false);
  for (const auto& [token, id] : vocabulary_) {
    const auto slot = static_cast<std::size_t>(id);
    if (id < 0 || slot >= taken.size() || taken[slot]) {
      raise(ErrorKind::kData,
            "{}: token \"{}\" has id {}; the ids of {} tokens must be 0 to {}, each once", name,
            token, id, taken.size(), taken.size() - 1);
    }
    taken[slot] = true;
    const auto bytes = bytes_of_byte_level(token);
    if (!bytes) {
      raise(ErrorKind::kData, "{}: token \"{}\" is not written in the byte-level alphabet", name,
            token);
    }
    bytes_of_[slot] = *bytes;
    tokens_[slot] = token;
    if (token == kEndOfText) special_.bos = special_.eos = id;
  }
  for (unsigned byte = 0; byte < byte_tokens_.size(); ++byte) {
    byte_tokens_[byte] = need_id(name, byte_level_symbol(static_cast<std::uint8_t>(byte)));
  }
}

void BpeTokenizer::index_merges(const std::string& name) {
  for (const auto& [left, right] : merges_) {
    const auto rank = static_cast<std::int32_t>(merge_of_.size());
    const Merge merge{rank, need_id(name, left + right)};
    const bool is_new =
        merge_of_.emplace(pair_key(need_id(name, left), need_id(name, right)), merge).second;
    if (!is_new) raise(ErrorKind::kData, "{}: the merge \"{} {}\" comes twice", name, left, right);
  }
}

std::int32_t BpeTokenizer::need_id(const std::string& name, const std::string& token) const {
  const auto found = vocabulary_.find(token);
  if (found == vocabulary_.end()) {
    raise(ErrorKind::kData, "{}: \"{}\" is not in the vocabulary of {} tokens", name, token,
          vocabulary_.size());
  }
  return found->second;
}

const BpeTokenizer::Merge* BpeTokenizer::find_merge(std::int32_t left, std::int32_t right) const {
  const auto found = merge_of_.find(pair_key(left, right));
  return found == merge_of_.end() ? nullptr : &found->second;
}

BpeTokenizer::Word BpeTokenizer::encode_piece(std::string_view piece) const {
  const auto size = static_cast<std::int64_t>(piece.size());
  std::vector<Link> links(piece.size());
  for (std::int64_t i = 0; i < size; ++i) {
    const auto at = static_cast<std::size_t>(i);
    links[at] = {byte_tokens_[static_cast<std::uint8_t>(piece[at])], i - 1, i + 1};
  }
  const auto link = [&](std::int64_t i) -> Link& { return links[static_cast<std::size_t>(i)]; };

  // A queue of candidate pairs, by rank, then from left to right, keeps long pieces (a megabyte of
  // one letter) from taking quadratic time. Candidates that a merge has made stale are skipped.
  using Candidate = std::tuple<std::int32_t, std::int64_t, std::int32_t, std::int32_t>;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  const auto consider = [&](std::int64_t left) {
    if (left < 0 || link(left).next >= size) return;
    const std::int32_t right_token = link(link(left).next).token;
    if (const Merge* merge = find_merge(link(left).token, right_token)) {
      candidates.emplace(merge->rank, left, link(left).token, right_token);
    }
  };
  for (std::int64_t i = 0; i < size; ++i) consider(i);
  while (!candidates.empty()) {
    const auto [rank, left, left_token, right_token] = candidates.top();
    candidates.pop();
    const std::int64_t right = link(left).next;
    if (link(left).token != left_token || right >= size || link(right).token != right_token) {
      continue;
    }
    link(left).token = find_merge(left_token, right_token)->merged;
    link(left).next = link(right).next;
    if (link(right).next < size) link(link(right).next).previous = left;
    link(right).token = -1;  // gone
    consider(link(left).previous);
    consider(left);
  }
  Word out;
  for (std::int64_t i = 0; i < size; i = link(i).next) out.push_back(link(i).token);
  return out;
}

void BpeTokenizer::encode_ordinary(std::string_view text, std::vector<std::int32_t>& out,
                                   std::unordered_map<std::string_view, Word>& cache) const {
  for (const std::string_view piece : pretokenizer_.split(text)) {
    const auto [word, is_new] = cache.try_emplace(piece);
    if (is_new) word->second = encode_piece(piece);
    out.insert(out.end(), word->second.begin(), word->second.end());
  }
}

std::vector<std::int32_t> BpeTokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> out;
  std::unordered_map<std::string_view, Word> cache;  // per call: no lock, and no growth without end
  while (true) {
    const std::size_t special = special_.eos ? text.find(kEndOfText) : text.npos;
    encode_ordinary(text.substr(0, special), out, cache);
    if (special == text.npos) return out;
    out.push_back(*special_.eos);
    text.remove_prefix(special + kEndOfText.size());
  }
}

std::string BpeTokenizer::decode(std::span<const std::int32_t> tokens) const {
  std::string out;
  for (const std::int32_t token : tokens) {
    check_token(token, vocab_size());
    out += bytes_of_[static_cast<std::size_t>(token)];
  }
  return out;
}

std::string BpeTokenizer::token(std::int32_t id) const {
  check_token(id, vocab_size());
  return tokens_[static_cast<std::size_t>(id)];
}

std::optional<std::int32_t> BpeTokenizer::id_of(std::string_view token) const {
  const auto found = vocabulary_.find(std::string(token));
  if (found == vocabulary_.end()) return std::nullopt;
  return found->second;
}

bool BpeTokenizer::continues_word(std::int32_t id) const {
  check_token(id, vocab_size());
  return !is_special(id) && !bytes_of_[static_cast<std::size_t>(id)].starts_with(' ');
}

std::string BpeTokenizer::serialize() const {
  return nlohmann::json{{"type", "bpe"}, {"vocab", vocabulary_}, {"merges", merges_}}.dump();
}

}  // namespace lockstep
