#include "trainer/apps/predict_texts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "core/base/error.h"
#include "core/engine/engine.h"
#include "core/trace/functions.h"
#include "data/files/printable.h"
#include "data/files/utf8.h"
#include "data/tokens/documents.h"
#include "data/tokens/jsonl.h"
#include "trainer/apps/likeliest.h"
#include "trainer/apps/perplexity_windows.h"
#include "trainer/apps/text_rows.h"

namespace lockstep {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Texts that run through the model at once, so that answers appear while others are computed.
constexpr std::size_t kTextsAtOnce = 1024;
constexpr const char* kFromCommandLine = "--text";

/// Messages about lines name config keys: the command has options instead.
TextDocuments read_texts_of(const std::string& file, const JsonlOptions& fields) {
  try {
    return read_jsonl({file}, fields);
  } catch (const Error& error) {
    std::string message = error.what();
    for (const auto& [key, option] : {std::pair("data.text_field", "--text-field"),
                                      std::pair("data.text_pair_field", "--text-pair-field")})
      if (const std::size_t at = message.find(key); at != std::string::npos)
        message.replace(at, std::string_view(key).size(), option);
    throw Error(error.kind(), message);
  }
}

TextDocuments read_request(const TextRequest& request) {
  if (request.file)
    return read_texts_of(*request.file,
                         {.text_field = request.text_field, .pair_field = request.pair_field});
  TextDocuments out{.files = {kFromCommandLine}, .all = {}};
  out.all.push_back(
      {.text = request.text.value_or(""), .place = {0, 1}, .second = request.text_pair});
  return out;
}

/// Where an answer's text is from: members of its JSON, and the beginning of its line.
class AnswerPlace {
 public:
  AnswerPlace(const TextDocuments& documents, const TextDocument& document)
      : documents_(documents), document_(document) {}

  OrderedJson json() const {
    if (is_given()) return {{"text", valid_utf8(document_.text)}};
    return {{"file", valid_utf8(documents_.files.front())}, {"line", document_.place.line}};
  }
  std::string text() const {
    return is_given() ? "" : printable(documents_.place(document_.place)) + ": ";
  }

 private:
  bool is_given() const { return documents_.files.front() == kFromCommandLine; }

  const TextDocuments& documents_;
  const TextDocument& document_;
};

OrderedJson json_of_classes(std::span<const ScoredClass> found, const char* what,
                            std::span<const std::string> names) {
  OrderedJson out = OrderedJson::array();
  for (const auto& [number, probability] : found)
    out.push_back({{what, valid_utf8(class_name(number, names))}, {"score", probability}});
  return out;
}

/// The documents as a model takes them, cut where they are too long.
Documents cut_documents(const TextModel& model, const TextDocuments& documents) {
  const DocumentLimit limit{.tokens = model.needs.sequence_length,
                            .on_too_long = OnTooLong::kTruncate};
  Documents out =
      tokenize_documents(documents, model.tokenizer, DocumentFrame::kSpecialTokens, limit);
  const auto full = std::ranges::count_if(out.all, [&](const Document& document) {
    return std::ssize(document.tokens) == limit.tokens;
  });
  if (full == 0) return out;
  const Documents whole =
      tokenize_documents(documents, model.tokenizer, DocumentFrame::kSpecialTokens);
  const auto cut = std::ranges::count_if(whole.all, [&](const Document& document) {
    return std::ssize(document.tokens) > limit.tokens;
  });
  if (cut > 0)
    fmt::print(stderr, "lockstep: warning: {} of {} texts have more than {} tokens and are cut\n",
               cut, whole.all.size(), limit.tokens);
  return out;
}

std::vector<std::vector<double>> run_rows(const TextModel& model, const LossFunction& loss,
                                          const std::string& output,
                                          std::span<const TextRow> rows) {
  return values_of_rows(model.engine, loss, output, rows,
                        {.longest = model.needs.sequence_length,
                         .pad = model.tokenizer.special().pad.value_or(0),
                         .compute_dtype = model.compute_dtype},
                        model.activity);
}

/// A loss that only serves to get this tensor.
Loss only_output(const Tensor& output) {
  TraceContext& context = output.context();
  return {.sum = context.constant(0.0, DType::kF32),
          .count = context.constant(1.0, DType::kI64),
          .outputs = {{"values", output}}};
}

void print_classes(const TextModel& model, const TextRequest& request,
                   const TextDocuments& documents) {
  const Documents tokenized = cut_documents(model, documents);
  for (std::size_t first = 0; first < tokenized.all.size(); first += kTextsAtOnce) {
    std::vector<TextRow> rows;
    for (std::size_t i = first; i < std::min(first + kTextsAtOnce, tokenized.all.size()); ++i)
      rows.push_back({.tokens = tokenized.all[i].tokens,
                      .types = tokenized.all[i].types,
                      .values = {{"label", 0}}});
    const auto logits = run_rows(model, std::cref(model.model), "logits", rows);
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const AnswerPlace place(documents, documents.all[first + i]);
      const std::vector<ScoredClass> found = likeliest(logits[i], request.top, logits[i].size());
      if (request.json) {
        OrderedJson line = place.json();
        line["predictions"] = json_of_classes(found, "label", model.classes);
        fmt::print("{}\n", line.dump());
      } else {
        fmt::print("{}{}\n", place.text(), likeliest_text(found, model.classes));
      }
    }
    std::fflush(stdout);
  }
}

/// The places of the mask token.
std::vector<std::int32_t> masks_of(const Document& document, std::int32_t mask) {
  std::vector<std::int32_t> out;
  for (std::size_t i = 0; i < document.tokens.size(); ++i)
    if (document.tokens[i] == mask) out.push_back(static_cast<std::int32_t>(i));
  return out;
}

/// Tokens as words that can be read, one of which is part of a word.
std::vector<std::string> token_texts(const Tokenizer& tokenizer,
                                     std::span<const ScoredClass> found) {
  std::vector<std::string> out;
  for (const ScoredClass& one : found)
    out.push_back(tokenizer.token(static_cast<std::int32_t>(one.number)));
  return out;
}

/// Names come in the order of `found`, not of the classes.
std::vector<ScoredClass> in_place(std::vector<ScoredClass> found) {
  for (std::size_t i = 0; i < found.size(); ++i) found[i].number = i;
  return found;
}

void print_masks(const TextModel& model, const TextRequest& request,
                 const TextDocuments& documents) {
  const std::optional<std::int32_t> mask = model.tokenizer.special().mask;
  LS_USER_CHECK(mask.has_value(), "the run's tokenizer has no mask token");
  const Documents tokenized = cut_documents(model, documents);
  for (std::size_t i = 0; i < tokenized.all.size(); ++i)
    if (masks_of(tokenized.all[i], *mask).empty())
      raise(ErrorKind::kData, "{}: no {} in this text, which the model could fill",
            documents.place(documents.all[i].place), model.tokenizer.token(*mask));
  const LossFunction loss = [&](const Batch& batch) {
    return only_output(model.model.logits_in_place(batch));
  };
  const auto known = static_cast<std::size_t>(model.tokenizer.vocab_size());
  for (std::size_t first = 0; first < tokenized.all.size(); first += kTextsAtOnce) {
    const std::size_t end = std::min(first + kTextsAtOnce, tokenized.all.size());
    std::vector<TextRow> rows;  // one each mask
    for (std::size_t i = first; i < end; ++i)
      for (const std::int32_t position : masks_of(tokenized.all[i], *mask))
        rows.push_back({.tokens = tokenized.all[i].tokens, .values = {{"position", position}}});
    const auto logits = run_rows(model, loss, "values", rows);
    auto row = logits.begin();
    for (std::size_t i = first; i < end; ++i) {
      const AnswerPlace place(documents, documents.all[i]);
      OrderedJson masks = OrderedJson::array();
      std::string text;
      for (std::size_t m = 0; m < masks_of(tokenized.all[i], *mask).size(); ++m, ++row) {
        const std::vector<ScoredClass> found = likeliest(*row, request.top, known);
        const std::vector<std::string> names = token_texts(model.tokenizer, found);
        masks.push_back(json_of_classes(in_place(found), "token", names));
        text += fmt::format("{}{}", m == 0 ? "" : " | ", likeliest_text(in_place(found), names));
      }
      if (request.json) {
        OrderedJson line = place.json();
        line["masks"] = masks;
        fmt::print("{}\n", line.dump());
      } else {
        fmt::print("{}{}\n", place.text(), text);
      }
    }
    std::fflush(stdout);
  }
}

/// Sums over the scored tokens of one text, or of all.
struct TokenScores {
  double loss = 0;
  std::int64_t tokens = 0;

  OrderedJson json() const {
    OrderedJson out;
    out["perplexity"] = tokens == 0 ? OrderedJson() : OrderedJson(perplexity());
    out["tokens"] = tokens;
    return out;
  }
  std::string text() const {
    if (tokens == 0) return "no token to predict";
    return fmt::format("perplexity {:.4f}, {} tokens", perplexity(), tokens);
  }

 private:
  double perplexity() const { return std::exp(loss / static_cast<double>(tokens)); }
};

TextRow window_row(const std::vector<std::int32_t>& tokens, const ScoredWindow& window) {
  TextRow out{.tokens = {tokens.begin() + window.begin, tokens.begin() + window.end}};
  constexpr std::int32_t kUnscored = -100;
  out.targets.assign(out.tokens.size(), kUnscored);
  for (std::int64_t at = window.scored; at < window.end; ++at)
    out.targets[static_cast<std::size_t>(at - window.begin - 1)] =
        tokens[static_cast<std::size_t>(at)];
  return out;
}

Loss token_losses(const Model& model, const Batch& batch) {
  const Tensor logits = model.logits(batch["tokens"]);  // [B,T,V]
  const std::int64_t rows = logits.size(0) * logits.size(1);
  return only_output(cross_entropy(reshape(logits, Shape{rows, logits.size(2)}),
                                   reshape(batch["targets"], Shape{rows})));
}

void print_perplexity(const TextModel& model, const TextRequest& request,
                      const TextDocuments& documents) {
  const std::int64_t context = model.needs.sequence_length;
  const std::int64_t stride = request.stride.value_or(std::max<std::int64_t>(context / 2, 1));
  LS_USER_CHECK(stride <= context, "--stride {} is more than the model's context of {} tokens",
                stride, context);
  const Documents tokenized =
      tokenize_documents(documents, model.tokenizer, DocumentFrame::kSpecialTokens);
  const LossFunction loss = [&](const Batch& batch) { return token_losses(model.model, batch); };
  TokenScores all;
  for (std::size_t first = 0; first < tokenized.all.size(); first += kTextsAtOnce) {
    const std::size_t end = std::min(first + kTextsAtOnce, tokenized.all.size());
    std::vector<TextRow> rows;
    std::vector<std::size_t> owners;
    for (std::size_t i = first; i < end; ++i) {
      const std::vector<std::int32_t>& tokens = tokenized.all[i].tokens;
      for (const ScoredWindow& window : scored_windows(std::ssize(tokens), context, stride)) {
        rows.push_back(window_row(tokens, window));
        owners.push_back(i);
      }
    }
    const auto losses = run_rows(model, loss, "values", rows);
    std::vector<TokenScores> scores(end - first);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      TokenScores& to = scores[owners[r] - first];
      for (std::size_t t = 0; t < rows[r].targets.size(); ++t)
        if (rows[r].targets[t] >= 0) {
          to.loss += losses[r][t];
          ++to.tokens;
        }
    }
    for (std::size_t i = first; i < end; ++i) {
      const AnswerPlace place(documents, documents.all[i]);
      const TokenScores& one = scores[i - first];
      all.loss += one.loss;
      all.tokens += one.tokens;
      if (request.json) {
        OrderedJson line = place.json();
        line.update(one.json());
        fmt::print("{}\n", line.dump());
      } else {
        fmt::print("{}{}\n", place.text(), one.text());
      }
    }
    std::fflush(stdout);
  }
  if (!request.file) return;
  if (request.json) {
    OrderedJson line{{"texts", tokenized.all.size()}};
    line.update(all.json());
    fmt::print("{}\n", line.dump());
  } else {
    fmt::print("all {} texts: {}\n", tokenized.all.size(), all.text());
  }
}

}  // namespace

void predict_texts(const TextModel& model, const TextRequest& request) {
  const TextDocuments documents = read_request(request);
  switch (request.question) {
    case TextQuestion::kClasses: return print_classes(model, request, documents);
    case TextQuestion::kMasks: return print_masks(model, request, documents);
    case TextQuestion::kPerplexity: return print_perplexity(model, request, documents);
  }
}

}  // namespace lockstep
