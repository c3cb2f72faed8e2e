#include "data/tokenizers/tokenizer_files.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/base/error.h"
#include "core/base/json_place.h"
#include "data/files/lines.h"
#include "data/files/read_text.h"
#include "data/files/utf8.h"
#include "data/tokenizers/tokenizer_documents.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

TokenPairs read_merges(const std::string& path) {
  TokenPairs out;
  for_each_line(read_text(path), [&](std::int64_t number, std::string_view line) {
    if (line.empty() || (number == 1 && line.starts_with("#version"))) return;
    const std::size_t space = line.find(' ');
    const bool one_space = space != line.npos && line.find(' ', space + 1) == line.npos;
    const bool is_merge = one_space && space > 0 && space + 1 < line.size();
    if (!is_merge || end_of_utf8(line, 0) != line.size())
      raise(ErrorKind::kData, "{}:{}: a merge is two tokens with a space between, not \"{}\"", path,
            number, line);
    out.emplace_back(line.substr(0, space), line.substr(space + 1));
  });
  return out;
}

TokenizerPtr gpt2_tokenizer(const JsonPlace& vocabulary, const std::string& vocab_path,
                            const std::string& merges_path) {
  TokenIds ids;
  vocabulary.for_each_member(
      [&](const std::string& token, const JsonPlace& id) { ids[token] = id.number(); });
  return tokenizer_of_document(byte_level_document(ids, read_merges(merges_path)),
                               vocab_path + " and " + merges_path);
}

/// A cased vocabulary has words with capital letters; [UNK] and the like do not count.
bool has_capitals(const std::vector<std::string>& tokens) {
  return std::ranges::any_of(tokens, [](const std::string& token) {
    return !token.starts_with('[') &&
           std::ranges::any_of(token, [](char c) { return c >= 'A' && c <= 'Z'; });
  });
}

TokenizerPtr read_vocabulary_lines(const std::string& path, std::string_view text) {
  std::vector<std::string> tokens;
  std::set<std::string, std::less<>> seen;
  for_each_line(text, [&](std::int64_t number, std::string_view line) {
    if (end_of_utf8(line, 0) != line.size())
      raise(ErrorKind::kData, "{}:{}: not UTF-8", path, number);
    if (!seen.emplace(line).second)
      raise(ErrorKind::kData, "{}:{}: the token \"{}\" is there twice", path, number, line);
    tokens.emplace_back(line);
  });
  if (!seen.contains("[UNK]"))
    raise(ErrorKind::kData,
          "{}: neither a tokenizer.json nor a vocab.txt, which has a token on each line and [UNK] "
          "among them",
          path);
  return tokenizer_of_document(word_piece_document(tokens, !has_capitals(tokens)), path);
}

}  // namespace

TokenizerPtr load_tokenizer(const std::string& path) {
  const std::string text = read_text(path, kMaxJsonBytes);
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  const std::size_t begin = text.find_first_not_of(
      " \t\r\n", text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
  if (begin == text.npos || text[begin] != '{' || path.ends_with(".txt"))
    return read_vocabulary_lines(path, text);
  const JsonPlace json = JsonPlace::parse(text, path);
  const bool is_vocabulary = !json.find("model") && !json.find("version") &&
                             (!json.find("type") || !json.at("type").is_string());
  if (!is_vocabulary) return tokenizer_from_json(text, path);
  const fs::path merges = fs::path(path).parent_path() / "merges.txt";
  if (!fs::exists(merges))
    raise(ErrorKind::kData, "{}: not a tokenizer.json, and no vocabulary with {} beside it", path,
          merges.string());
  return gpt2_tokenizer(json, path, merges.string());
}

TokenizerPtr read_gpt2_tokenizer(const std::string& vocab_path, const std::string& merges_path) {
  return gpt2_tokenizer(JsonPlace::read(vocab_path, ErrorKind::kData), vocab_path, merges_path);
}

TokenizerPtr character_tokenizer(const std::string& name, std::string_view text) {
  std::set<char32_t> distinct;
  std::vector<bool> ascii(128, false);
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) {
      ascii[byte] = true;
      ++at;
      continue;
    }
    const auto character = decode_utf8(text, at);
    if (!character)
      raise(ErrorKind::kData,
            "{}: byte 0x{:02X} at offset {} is not UTF-8; a character tokenizer needs UTF-8 text "
            "(byte-level BPE takes any bytes)",
            name, byte, at);
    distinct.insert(character->code_point);
    at += character->bytes;
  }
  for (char32_t character = 0; character < ascii.size(); ++character)
    if (ascii[character]) distinct.insert(character);
  std::vector<std::string> characters;
  for (const char32_t code_point : distinct) append_utf8(characters.emplace_back(), code_point);
  return tokenizer_of_document(character_document(characters), name);
}

}  // namespace lockstep
