#include "data/tokens/jsonl.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "data/files/read_text.h"

namespace lockstep {
namespace {

/// The document's text. Throws Error(kData) without file and line.
std::string text_of_line(std::string_view line, const std::string& field) {
  nlohmann::json object;
  try {
    object = nlohmann::json::parse(line);
  } catch (const nlohmann::json::parse_error& error) {
    raise(ErrorKind::kData, "not valid JSON at column {}", error.byte);
  }
  if (!object.is_object()) {
    raise(ErrorKind::kData, "a line must be a JSON object, but is a JSON {}", object.type_name());
  }
  const auto found = object.find(field);
  if (found == object.end()) {
    std::string names;
    for (const auto& item : object.items()) names += (names.empty() ? "" : ", ") + item.key();
    raise(ErrorKind::kData, "no field '{}'; the object has: {}", field, names);
  }
  if (!found->is_string()) {
    raise(ErrorKind::kData, "field '{}' is a JSON {}, not a string", field, found->type_name());
  }
  return found->get<std::string>();
}

std::int32_t separator_of(const JsonlOptions& options, const Tokenizer& tokenizer) {
  const auto separator = options.separator ? options.separator : tokenizer.end_of_text();
  LS_USER_CHECK(separator.has_value(),
                "{}: the tokenizer has no end-of-text token to separate documents with; give a "
                "separator",
                options.path);
  return *separator;
}

}  // namespace

std::vector<std::vector<std::int32_t>> read_jsonl(const JsonlOptions& options,
                                                  const Tokenizer& tokenizer) {
  const std::int32_t separator = separator_of(options, tokenizer);
  const std::string text = read_text(options.path);
  std::vector<std::vector<std::int32_t>> out;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    try {
      out.push_back(tokenizer.encode(text_of_line(line, options.field)));
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("{}:{}: {}", options.path, number, error.what()));
    }
    out.back().push_back(separator);
  }
  if (out.empty()) raise(ErrorKind::kData, "{}: no documents in {} lines", options.path, number);
  return out;
}

TokenStreamPtr jsonl_tokens(const JsonlOptions& options, const Tokenizer& tokenizer) {
  std::vector<std::int32_t> all;
  for (const auto& document : read_jsonl(options, tokenizer)) {
    all.insert(all.end(), document.begin(), document.end());
  }
  return std::make_shared<MemoryTokens>(options.path, std::move(all), tokenizer.vocab_size());
}

}  // namespace lockstep
