#include "data/tokens/documents.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/error.h"
#include "data/samples/digest.h"
#include "data/tokens/text_pairs.h"

namespace lockstep {
namespace {

std::string name_of_files(const std::vector<std::string>& files) {
  if (files.size() == 1) return files.front();
  return fmt::format("{} ... {} ({} files)", files.front(), files.back(), files.size());
}

std::string place_in(const std::vector<std::string>& files, const DocumentPlace& where) {
  return fmt::format("{}:{}", files.at(static_cast<std::size_t>(where.file)), where.line);
}

using Ids = std::vector<std::int32_t>;

Ids with_end(Ids tokens, const std::optional<std::int32_t>& end) {
  if (end) tokens.push_back(*end);
  return tokens;
}

Ids framed(Ids tokens, const Tokenizer& tokenizer, DocumentFrame frame) {
  switch (frame) {
    case DocumentFrame::kEndOfText: return with_end(std::move(tokens), tokenizer.end_of_text());
    case DocumentFrame::kSeparator: {
      const auto separator = tokenizer.special().sep;
      return with_end(std::move(tokens), separator ? separator : tokenizer.end_of_text());
    }
    case DocumentFrame::kSpecialTokens: return tokenizer.with_special_tokens(tokens).ids;
  }
  __builtin_unreachable();
}

[[noreturn]] void raise_too_long(std::size_t own, std::size_t around, std::size_t max_tokens) {
  raise(ErrorKind::kData,
        "a document of {} tokens{}, but a sample takes at most {}: give a longer "
        "data.sequence_length, or data.on_too_long: truncate, which cuts off the end",
        own + around, around == 0 ? "" : fmt::format(", {} of them special", around), max_tokens);
}

void check_room(std::size_t max_tokens, std::size_t around) {
  LS_USER_CHECK(max_tokens > around,
                "data.sequence_length {} leaves no room between {} special tokens", max_tokens,
                around);
}

/// Throws Error(kData) without file and line. Counts in `truncated` a text that loses its end.
Ids tokens_of(const std::string& text, const Tokenizer& tokenizer, DocumentFrame frame,
              const DocumentLimit& limit, std::int64_t& truncated) {
  Ids own = tokenizer.encode(text);
  const auto max_tokens = static_cast<std::size_t>(limit.tokens);
  const std::size_t around = framed({}, tokenizer, frame).size();
  if (max_tokens == 0 || own.size() + around <= max_tokens)
    return framed(std::move(own), tokenizer, frame);
  if (limit.on_too_long == OnTooLong::kError) raise_too_long(own.size(), around, max_tokens);
  ++truncated;
  if (frame != DocumentFrame::kSpecialTokens) {
    own.resize(std::min(own.size(), max_tokens));  // cut: it has no end token
    return own;
  }
  check_room(max_tokens, around);
  own.resize(max_tokens - around);
  return framed(std::move(own), tokenizer, frame);
}

/// The same of a pair.
TokenSequence pair_of(const std::string& first, const std::string& second,
                      const Tokenizer& tokenizer, const DocumentLimit& limit,
                      std::int64_t& truncated) {
  Ids a = tokenizer.encode(first);
  Ids b = tokenizer.encode(second);
  const auto max_tokens = static_cast<std::size_t>(limit.tokens);
  const std::size_t around = tokenizer.with_special_tokens({}, Ids()).ids.size();
  if (max_tokens > 0 && a.size() + b.size() + around > max_tokens) {
    if (limit.on_too_long == OnTooLong::kError)
      raise_too_long(a.size() + b.size(), around, max_tokens);
    check_room(max_tokens, around);
    ++truncated;
    const PairLengths kept = longest_first({a.size(), b.size()}, max_tokens - around);
    a.resize(kept.first);
    b.resize(kept.second);
  }
  return tokenizer.with_special_tokens(a, b);
}

}  // namespace

std::string TextDocuments::name() const {
  return name_of_files(files);
}

std::string TextDocuments::place(const DocumentPlace& where) const {
  return place_in(files, where);
}

std::string Documents::name() const {
  return name_of_files(files);
}

std::string Documents::place(const DocumentPlace& where) const {
  return place_in(files, where);
}

std::string Documents::digest() const {
  Sha256 hash;
  for (const Document& document : all) {
    const std::uint64_t length = document.tokens.size();
    hash.update(&length, sizeof length);
    hash.update(&document.label, sizeof document.label);
    hash.update(document.tokens.data(), document.tokens.size() * sizeof document.tokens[0]);
    hash.update(document.types.data(), document.types.size() * sizeof document.tokens[0]);
  }
  return finish_hex(hash);
}

DocumentSplit split_documents(TextDocuments documents, double train_fraction) {
  LS_CHECK(train_fraction > 0 && train_fraction <= 1, "a training fraction of {}", train_fraction);
  const auto train =
      static_cast<std::ptrdiff_t>(static_cast<double>(documents.all.size()) * train_fraction);
  DocumentSplit out{.train = {.files = documents.files, .all = {}},
                    .validation = {.files = documents.files, .all = {}}};
  const auto middle = std::make_move_iterator(documents.all.begin() + train);
  out.train.all.assign(std::make_move_iterator(documents.all.begin()), middle);
  out.validation.all.assign(middle, std::make_move_iterator(documents.all.end()));
  return out;
}

Documents tokenize_documents(const TextDocuments& documents, const Tokenizer& tokenizer,
                             DocumentFrame frame, const DocumentLimit& limit) {
  Documents out{.files = documents.files, .all = {}};
  out.all.reserve(documents.all.size());
  for (const TextDocument& document : documents.all) {
    try {
      Document tokenized{.place = document.place, .label = document.label.number};
      if (document.second) {
        auto [ids, types] =
            pair_of(document.text, *document.second, tokenizer, limit, out.truncated);
        tokenized.tokens = std::move(ids);
        tokenized.types = std::move(types);
      } else {
        tokenized.tokens = tokens_of(document.text, tokenizer, frame, limit, out.truncated);
      }
      out.all.push_back(std::move(tokenized));
    } catch (const Error& error) {
      throw Error(error.kind(),
                  fmt::format("{}: {}", documents.place(document.place), error.what()));
    }
  }
  return out;
}

}  // namespace lockstep
