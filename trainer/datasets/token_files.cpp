#include "trainer/datasets/token_files.h"

#include <filesystem>

#include "core/base/error.h"
#include "data/files/plain_text.h"
#include "data/tokens/text.h"
#include "data/tokens/token_dataset.h"
#include "data/tokens/token_shards.h"
#include "trainer/datasets/masked_samples.h"
#include "trainer/datasets/path_keys.h"

namespace lockstep {
namespace {

template <class Data>
std::vector<Key> token_keys() {
  std::vector<Key> out = path_keys<Data>();
  out.push_back({.name = "stride",
                 .member = bind<&Data::stride>(),
                 .range = size_at_least(0),
                 .unit = "tokens",
                 .doc = "Distance between the starts of neighbouring training samples; 0 uses the "
                        "sequence length, 1 with shuffle draws crops at any position."});
  return out;
}

/// Samples of a stream as a model takes them; stride 0: the sequence length.
class TokenSampleMaker {
 public:
  TokenSampleMaker(const OpenContext& context, TokenizerPtr tokenizer)
      : context_(context), tokenizer_(std::move(tokenizer)) {}

  DatasetPtr training(TokenStreamPtr tokens, std::int64_t stride) const {
    const std::int64_t length = context_.sequence_length;
    if (context_.needs.inputs == "masked_tokens")
      return masked_chunks(std::move(tokens), context_, tokenizer_, stride);
    return std::make_shared<TokenDataset>(std::move(tokens), length, stride > 0 ? stride : length);
  }

  /// Validation uses every token once, whatever the training samples' stride.
  DatasetPtr validation(TokenStreamPtr tokens) const { return training(std::move(tokens), 0); }

 private:
  const OpenContext& context_;
  TokenizerPtr tokenizer_;
};

/// All files as one text, and its name in messages.
struct Text {
  std::string name;
  std::string content;
  std::vector<std::string> warnings = {};
};

Text read_texts(const std::vector<std::string>& paths) {
  Text out;
  for (const std::string& path : paths) {
    out.name += (out.name.empty() ? "" : ", ") + path;
    const std::string content = read_plain_text(path);
    if (looks_like_jsonl(content)) out.warnings.push_back(warning_of_jsonl(path));
    out.content += content;
  }
  return out;
}

}  // namespace

std::vector<Key> TextData::keys() {
  return token_keys<TextData>();
}

void TextData::check(const Config& run, const ReportProblem& report) const {
  if (run.tokenizer.type == TokenizerType::kNone) {
    report({"tokenizer.type", "data.type", "model.name"},
           "missing required key 'tokenizer.type': text data needs one (char, gpt2 or file)");
  }
  check_validation(*this, run, report);
}

DataSource TextData::open(const OpenContext& context) const {
  const Text text = read_texts(path);
  const TokenizerPtr tokenizer = context.open_tokenizer(text.name, text.content);
  const auto tokens = [&](const std::string& name, std::string_view content) {
    return tokenize_text(name, content, *tokenizer);
  };
  const TextSplit split = split_text(text.content, val_path.empty() ? 1.0 - val_fraction : 1.0);
  const TokenSampleMaker samples(context, tokenizer);
  DataSource out{.train = samples.training(tokens(text.name, split.train), stride),
                 .tokenizer = tokenizer,
                 .vocab_size = tokenizer->vocab_size(),
                 .tokens_per_sample = context.sequence_length,
                 .warnings = text.warnings};
  if (!val_path.empty()) {
    const Text validation = read_texts(val_path);
    out.validation = samples.validation(tokens(validation.name, validation.content));
  } else if (val_fraction > 0) {
    out.validation = samples.validation(tokens(text.name, split.validation));
  }
  return out;
}

std::vector<Key> TokensData::keys() {
  return token_keys<TokensData>();
}

void TokensData::check(const Config& run, const ReportProblem& report) const {
  if (run.tokenizer.type == TokenizerType::kChar) {
    report({"tokenizer.type", "data.type", "model.name"},
           "'tokenizer.type: char' learns its characters from a text, and tokens data has none");
  }
  check_validation(*this, run, report);
}

DataSource TokensData::open(const OpenContext& context) const {
  DataSource out{.train = nullptr, .tokens_per_sample = context.sequence_length};
  const std::string beside =
      (std::filesystem::path(path.front()).parent_path() / "tokenizer.json").string();
  if (context.has_tokenizer()) {
    out.tokenizer = context.open_tokenizer({}, {});
  } else if (std::filesystem::exists(beside)) {
    out.tokenizer = load_tokenizer(beside);
  }
  LS_USER_CHECK(context.needs.vocab_size > 0 || out.tokenizer != nullptr,
                "missing required key 'model.vocab_size': the config names no tokenizer to take it "
                "from, and there is no {}",
                beside);
  out.vocab_size =
      context.needs.vocab_size > 0 ? context.needs.vocab_size : out.tokenizer->vocab_size();
  const TokenSampleMaker samples(context, out.tokenizer);
  const auto all = std::make_shared<TokenShards>(path, out.vocab_size);
  if (!val_path.empty()) {
    out.train = samples.training(all, stride);
    out.validation = samples.validation(std::make_shared<TokenShards>(val_path, out.vocab_size));
    return out;
  }
  const auto train_size =
      static_cast<std::int64_t>(static_cast<double>(all->size()) * (1.0 - val_fraction));
  out.train = samples.training(std::make_shared<TokenSlice>(all, 0, train_size), stride);
  if (val_fraction > 0)
    out.validation = samples.validation(std::make_shared<TokenSlice>(all, train_size, all->size()));
  return out;
}

}  // namespace lockstep
