#include "trainer/data_source.h"

#include "core/base/error.h"
#include "data/files/read_text.h"
#include "data/images/idx.h"
#include "data/images/image_dataset.h"
#include "data/images/synthetic_images.h"
#include "data/subset.h"
#include "data/tokenizers/bpe_tokenizer.h"
#include "data/tokenizers/char_tokenizer.h"
#include "data/tokens/synthetic_tokens.h"
#include "data/tokens/text.h"
#include "data/tokens/token_dataset.h"
#include "data/tokens/token_shards.h"

namespace lockstep {
namespace {

std::int64_t sequence_length(const Config& config) {
  return config.data.sequence_length > 0 ? config.data.sequence_length : config.model.block_size;
}

DatasetPtr token_samples(const Config& config, TokenStreamPtr tokens, bool training) {
  const std::int64_t length = sequence_length(config);
  // Validation uses every token once, whatever the training samples' stride.
  const std::int64_t stride = training && config.data.stride > 0 ? config.data.stride : length;
  return std::make_shared<TokenDataset>(std::move(tokens), length, stride);
}

DatasetPtr subset(DatasetPtr whole, const std::optional<IndexRange>& range) {
  if (!range) return whole;
  return std::make_shared<SubsetDataset>(std::move(whole), range->begin, range->end);
}

/// All files as one text, and what to call it.
struct Text {
  std::string name;
  std::string content;
};

Text read_texts(const std::vector<std::string>& paths) {
  Text out;
  for (const std::string& path : paths) {
    out.name += (out.name.empty() ? "" : ", ") + path;
    out.content += read_text(path);
  }
  return out;
}

DataSource open_text(const Config& config, const std::string& tokenizer_json) {
  const Text text = read_texts(config.data.path);
  DataSource out;
  out.tokenizer = open_tokenizer(config, tokenizer_json, text.name, text.content);
  out.vocab_size = out.tokenizer->vocab_size();
  const bool own_validation = !config.data.val_path.empty();
  const TextSplit split =
      split_text(text.content, own_validation ? 1.0 : 1.0 - config.data.val_fraction);
  out.train = token_samples(config, tokenize_text(text.name, split.train, *out.tokenizer), true);
  if (own_validation) {
    const Text validation = read_texts(config.data.val_path);
    out.validation = token_samples(
        config, tokenize_text(validation.name, validation.content, *out.tokenizer), false);
  } else if (config.data.val_fraction > 0) {
    out.validation =
        token_samples(config, tokenize_text(text.name, split.validation, *out.tokenizer), false);
  }
  return out;
}

DataSource open_tokens(const Config& config, const std::string& tokenizer_json) {
  DataSource out;
  if (config.tokenizer.type != TokenizerType::kNone || !tokenizer_json.empty())
    out.tokenizer = open_tokenizer(config, tokenizer_json, {}, {});
  LS_USER_CHECK(config.model.vocab_size > 0 || out.tokenizer != nullptr,
                "data of type tokens needs model.vocab_size or a tokenizer");
  out.vocab_size =
      config.model.vocab_size > 0 ? config.model.vocab_size : out.tokenizer->vocab_size();
  const auto all = std::make_shared<TokenShards>(config.data.path, out.vocab_size);
  if (!config.data.val_path.empty()) {
    out.train = token_samples(config, all, true);
    out.validation = token_samples(
        config, std::make_shared<TokenShards>(config.data.val_path, out.vocab_size), false);
    return out;
  }
  const auto train_size = static_cast<std::int64_t>(static_cast<double>(all->size()) *
                                                    (1.0 - config.data.val_fraction));
  out.train = token_samples(config, std::make_shared<TokenSlice>(all, 0, train_size), true);
  if (config.data.val_fraction > 0)
    out.validation =
        token_samples(config, std::make_shared<TokenSlice>(all, train_size, all->size()), false);
  return out;
}

DatasetPtr open_images(const Config& config, const std::vector<std::string>& images,
                       const std::vector<std::string>& labels) {
  const PixelScaling scaling{.mean = {config.data.normalize_mean},
                             .stddev = {config.data.normalize_std}};
  LS_USER_CHECK(images.size() == 1 && labels.size() == 1,
                "data of type idx takes one file of images and one of labels, not {} and {}",
                images.size(), labels.size());
  return std::make_shared<ImageDataset>(read_idx(images[0], labels[0]), scaling,
                                        config.model.n_classes);
}

DataSource open_idx(const Config& config) {
  DataSource out;
  const DatasetPtr all = open_images(config, config.data.path, config.data.labels);
  out.train = subset(all, config.data.train_range);
  if (!config.data.val_path.empty()) {
    out.validation = subset(open_images(config, config.data.val_path, config.data.val_labels),
                            config.data.val_range);
  } else if (config.data.val_range) {
    out.validation = subset(all, config.data.val_range);
  }
  return out;
}

DataSource open_synthetic(const Config& config) {
  const auto seed = static_cast<std::uint64_t>(config.run.seed);
  const std::int64_t samples = config.data.num_samples;
  DataSource out;
  const auto make = [&](std::uint64_t stream) -> DatasetPtr {
    switch (config.model.name) {
      case ModelName::kGpt2: {
        const std::int64_t length = sequence_length(config);
        return std::make_shared<TokenDataset>(
            std::make_shared<SyntheticTokens>(samples * length + 1, config.model.vocab_size,
                                              seed + stream),
            length);
      }
      case ModelName::kMlp:
        return std::make_shared<SyntheticImages>(samples, Shape{1, 1, config.model.input_size},
                                                 config.model.n_classes, seed + stream);
      case ModelName::kLenet:
        return std::make_shared<SyntheticImages>(samples, Shape{1, 28, 28}, config.model.n_classes,
                                                 seed + stream);
    }
    __builtin_unreachable();
  };
  out.train = make(0);
  out.validation = make(1);
  out.vocab_size = config.model.name == ModelName::kGpt2 ? config.model.vocab_size : 0;
  return out;
}

}  // namespace

TokenizerPtr open_tokenizer(const Config& config, const std::string& tokenizer_json,
                            const std::string& text_name, const std::string& text) {
  if (!tokenizer_json.empty()) return tokenizer_from_json(tokenizer_json, "the checkpoint");
  switch (config.tokenizer.type) {
    case TokenizerType::kChar: return CharTokenizer::from_text(text_name, text);
    case TokenizerType::kGpt2:
      return BpeTokenizer::from_files(config.tokenizer.vocab, config.tokenizer.merges);
    case TokenizerType::kNone:
      raise(ErrorKind::kUsage, "tokenizer.type must be given to train on text");
  }
  __builtin_unreachable();
}

DataSource open_data(const Config& config, const std::string& tokenizer_json) {
  DataSource out;
  switch (config.data.type) {
    case DataType::kText: out = open_text(config, tokenizer_json); break;
    case DataType::kTokens: out = open_tokens(config, tokenizer_json); break;
    case DataType::kIdx: out = open_idx(config); break;
    case DataType::kSynthetic: out = open_synthetic(config); break;
  }
  if (out.vocab_size > 0) out.tokens_per_sample = sequence_length(config);
  return out;
}

}  // namespace lockstep
