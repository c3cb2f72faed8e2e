// Texts that each are a sample, or that are packed into samples, with their places in files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/tokenizers/tokenizer.h"

namespace lockstep {

/// The place where a document begins.
struct DocumentPlace {
  std::int64_t file = 0;  ///< index in a list of files
  std::int64_t line = 0;  ///< from 1
};

/// A class as a file has it.
struct DocumentLabel {
  std::string name = "";                     ///< "": the document has none
  std::optional<std::int64_t> integer = {};  ///< its value, if it is no text there
  std::int32_t number = -1;                  ///< its index, by number_labels() (labels.h)
};

struct TextDocument {
  std::string text;
  DocumentPlace place;
  DocumentLabel label = {};
  std::optional<std::string> second = {};  ///< the other text of a pair
};

struct TextDocuments {
  std::vector<std::string> files;
  std::vector<TextDocument> all;

  std::string name() const;                             ///< of the files, for messages
  std::string place(const DocumentPlace& where) const;  ///< "corpus.jsonl:12"
};

struct DocumentSplit {
  TextDocuments train;
  TextDocuments validation;
};

/// The first int(n * train_fraction) documents and the rest.
DocumentSplit split_documents(TextDocuments documents, double train_fraction);

/// A document as token ids.
struct Document {
  std::vector<std::int32_t> tokens = {};
  DocumentPlace place;
  std::int32_t label = -1;
  /// Of a pair: each token's type, 0 in the first text and 1 in the second; else empty.
  std::vector<std::int32_t> types = {};
};

struct Documents {
  std::vector<std::string> files;
  std::vector<Document> all;
  std::int64_t truncated = 0;  ///< documents that lost their end

  std::string name() const;
  std::string place(const DocumentPlace& where) const;
  /// SHA-256 of tokens, labels and types.
  std::string digest() const;
};

/// The handling of a document that is longer than a sample may be.
enum class OnTooLong : std::uint8_t { kError, kTruncate };

/// The tokens around a document's own.
enum class DocumentFrame : std::uint8_t {
  kEndOfText,      ///< the tokenizer's end-of-text token after it, if any, unless it is cut
  kSeparator,      ///< its sep token, or else as kEndOfText
  kSpecialTokens,  ///< Tokenizer::with_special_tokens()
};

struct DocumentLimit {
  std::int64_t tokens = 0;  ///< of a document with its frame; 0: no limit
  OnTooLong on_too_long = OnTooLong::kError;
};

/// Pairs have their special tokens whatever the frame is, and are cut as longest_first() says
/// (text_pairs.h). Error kData naming file and line of a document that cannot be encoded or is too
/// long.
Documents tokenize_documents(const TextDocuments& documents, const Tokenizer& tokenizer,
                             DocumentFrame frame, const DocumentLimit& limit = {});

}  // namespace lockstep
