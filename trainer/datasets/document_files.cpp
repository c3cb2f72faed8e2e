#include "trainer/datasets/document_files.h"

#include <cmath>
#include <utility>

#include "core/base/error.h"
#include "data/files/plain_text.h"
#include "data/tokens/document_dataset.h"
#include "data/tokens/jsonl.h"
#include "data/tokens/packed_dataset.h"
#include "data/tokens/token_dataset.h"
#include "trainer/datasets/masked_samples.h"
#include "trainer/datasets/path_keys.h"
#include "trainer/datasets/text_labels.h"

namespace lockstep {
namespace {

template <class Data>
std::vector<Key> document_keys() {
  std::vector<Key> out = path_keys<Data>();
  out.push_back({.name = "packing",
                 .member = bind<&Data::packing>(),
                 .doc = "none: each document is a sample of its own length. across: samples of the "
                        "sequence length are filled with consecutive documents, and tokens attend "
                        "to all earlier ones. within: the same, but a token attends to its own "
                        "document only, in which positions start at 0."});
  out.push_back(
      {.name = "on_too_long",
       .member = bind<&Data::on_too_long>(),
       .doc = "A document that is longer than the sequence length is an error, or is truncated."});
  return out;
}

template <class Data>
void check_documents(const Data& data, const Config& run, const ReportProblem& report) {
  if (run.tokenizer.type == TokenizerType::kNone) {
    report(
        {"tokenizer.type", "data.type", "model.name"},
        fmt::format("missing required key 'tokenizer.type': {} data needs one (char, gpt2 or file)",
                    Data::kName));
  }
  check_validation(data, run, report);
  if (data.packing == Packing::kNone) return;
  const auto no_effect = [&](std::string_view key) {
    report({key, "data.packing"},
           fmt::format("'{}' has no effect: with 'data.packing: {}' all samples are of one length",
                       key, name_of(data.packing)));
  };
  if (run.data.padding != PaddingMode::kMax) no_effect("data.padding");
  if (run.data.group_by_length > 0) no_effect("data.group_by_length");
  if (data.on_too_long != OnTooLong::kError) no_effect("data.on_too_long");
}

std::string all_text(const TextDocuments& documents) {
  std::string out;
  for (const TextDocument& document : documents.all) out += document.text;
  return out;
}

/// Samples as a model takes them.
class DocumentSampleMaker {
 public:
  DocumentSampleMaker(const OpenContext& context, TokenizerPtr tokenizer, Packing packing,
                      OnTooLong on_too_long)
      : context_(context),
        tokenizer_(std::move(tokenizer)),
        packing_(packing),
        on_too_long_(on_too_long) {
    if (packing != Packing::kAcross || is_masked()) return;
    LS_USER_CHECK(tokenizer_->end_of_text().has_value(),
                  "the tokenizer has no end-of-text token to separate documents with, as "
                  "data.packing: across needs; choose within, or another tokenizer");
  }

  DatasetPtr operator()(const TextDocuments& documents, double* mean_length = nullptr) const {
    if (packing_ != Packing::kNone) return packed(documents);
    const Kind kind = kind_of_samples();
    const auto out = std::make_shared<DocumentDataset>(
        tokenize_documents(documents, *tokenizer_, kind.frame,
                           {.tokens = context_.sequence_length + kind.targets_beyond,
                            .on_too_long = on_too_long_}),
        kind.fields, tokenizer_->special().pad.value_or(0));
    if (mean_length != nullptr) *mean_length = out->mean_length();
    return is_masked() ? masked(out, context_, *tokenizer_) : out;
  }

 private:
  struct Kind {
    DocumentFields fields;
    DocumentFrame frame;
    std::int64_t targets_beyond;  ///< the last token, which is a target only
  };

  bool is_masked() const { return context_.needs.inputs == "masked_tokens"; }

  Kind kind_of_samples() const {
    if (is_masked()) return {DocumentFields::kTokens, DocumentFrame::kSpecialTokens, 0};
    if (context_.needs.inputs == "labelled_tokens")
      return {DocumentFields::kLabel, DocumentFrame::kSpecialTokens, 0};
    return {DocumentFields::kNextToken, DocumentFrame::kEndOfText, 1};
  }

  DatasetPtr packed(const TextDocuments& texts) const {
    return packing_ == Packing::kWithin ? packed_within(texts) : packed_across(texts);
  }

  DatasetPtr packed_within(const TextDocuments& texts) const {
    const auto frame = is_masked() ? DocumentFrame::kSpecialTokens : DocumentFrame::kEndOfText;
    const auto out = std::make_shared<PackedDataset>(tokenize_documents(texts, *tokenizer_, frame),
                                                     context_.sequence_length);
    return is_masked() ? masked(out, context_, *tokenizer_) : out;
  }

  DatasetPtr packed_across(const TextDocuments& texts) const {
    const auto frame = is_masked() ? DocumentFrame::kSeparator : DocumentFrame::kEndOfText;
    const Documents documents = tokenize_documents(texts, *tokenizer_, frame);
    std::vector<std::int32_t> all;
    for (const Document& document : documents.all)
      all.insert(all.end(), document.tokens.begin(), document.tokens.end());
    const auto stream =
        std::make_shared<MemoryTokens>(documents.name(), std::move(all), tokenizer_->vocab_size());
    if (is_masked()) return masked_chunks(stream, context_, tokenizer_, 0);
    return std::make_shared<TokenDataset>(stream, context_.sequence_length);
  }

  const OpenContext& context_;
  TokenizerPtr tokenizer_;
  Packing packing_;
  OnTooLong on_too_long_;
};

/// `read` returns the documents of files.
template <class Data, class Read>
DataSource open_documents(const Data& data, const OpenContext& context, const Read& read) {
  LS_USER_CHECK(context.needs.inputs != "labelled_tokens" || data.packing == Packing::kNone,
                "data.packing: {} leaves no single document to classify; choose none",
                name_of(data.packing));
  DocumentSplit split =
      split_documents(read(data.path), data.val_path.empty() ? 1.0 - data.val_fraction : 1.0);
  if (!data.val_path.empty()) split.validation = read(data.val_path);
  std::vector<std::string> classes;
  if (context.needs.inputs == "labelled_tokens") classes = settle_labels(split, context);
  const bool learns =
      context.tokenizer_json.empty() && context.tokenizer.type == TokenizerType::kChar;
  // As for text data, the characters are those of all files, including the validation part.
  std::string text;
  if (learns)
    text = all_text(split.train) + (data.val_path.empty() ? all_text(split.validation) : "");
  const TokenizerPtr tokenizer = context.open_tokenizer(split.train.name(), text);
  const DocumentSampleMaker make(context, tokenizer, data.packing, data.on_too_long);
  auto mean_length = static_cast<double>(context.sequence_length);
  DataSource out{.train = make(split.train, &mean_length),
                 .tokenizer = tokenizer,
                 .vocab_size = tokenizer->vocab_size(),
                 .tokens_per_sample = std::llround(mean_length),
                 .classes = std::move(classes)};
  if (!split.validation.all.empty()) out.validation = make(split.validation);
  return out;
}

}  // namespace

std::vector<Key> JsonlData::keys() {
  std::vector<Key> out = document_keys<JsonlData>();
  out.push_back({.name = "text_field",
                 .member = bind<&JsonlData::text_field>(),
                 .doc = "Field of each line's object with the text."});
  out.push_back(
      {.name = "label_field",
       .member = bind<&JsonlData::label_field>(),
       .doc = "Field with the label, a text or an integer, for models that classify text."});
  out.push_back({.name = "text_pair_field",
                 .member = bind<&JsonlData::text_pair_field>(),
                 .doc = "Field with the second text of a pair, for models that classify pairs of "
                        "texts; if both are too long for a sample, the longer one is cut first.",
                 .may_be_empty = true});
  return out;
}

void JsonlData::check(const Config& run, const ReportProblem& report) const {
  check_documents(*this, run, report);
}

DataSource JsonlData::open(const OpenContext& context) const {
  JsonlOptions options{.text_field = text_field};
  const bool classifies = context.needs.inputs == "labelled_tokens";
  LS_USER_CHECK(classifies || text_pair_field.empty(),
                "data.text_pair_field: only models that classify texts take pairs of them");
  options.pair_field = text_pair_field;
  if (classifies) options.label_field = label_field;
  return open_documents(*this, context, [&](const std::vector<std::string>& paths) {
    return read_jsonl(paths, options);
  });
}

std::vector<Key> DocumentsData::keys() {
  std::vector<Key> out = document_keys<DocumentsData>();
  out.push_back({.name = "document",
                 .member = bind<&DocumentsData::document>(),
                 .doc = "Unit of a document: each line that is not blank, each paragraph (lines up "
                        "to a blank one), or each file."});
  return out;
}

void DocumentsData::check(const Config& run, const ReportProblem& report) const {
  check_documents(*this, run, report);
}

DataSource DocumentsData::open(const OpenContext& context) const {
  std::vector<std::string> warnings;
  DataSource out = open_documents(*this, context, [&](const std::vector<std::string>& paths) {
    TextDocuments documents = read_text_documents(paths, document);
    const TextDocument& first = documents.all.front();
    if (looks_like_jsonl(first.text))
      warnings.push_back(warning_of_jsonl(paths[static_cast<std::size_t>(first.place.file)]));
    return documents;
  });
  out.warnings = std::move(warnings);
  return out;
}

}  // namespace lockstep
