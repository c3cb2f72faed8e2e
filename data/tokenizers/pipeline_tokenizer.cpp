#include "data/tokenizers/pipeline_tokenizer.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/base/error.h"
#include "data/files/utf8.h"
#include "data/tokenizers/byte_level.h"

namespace lockstep {
namespace {

constexpr const char* kMetaspace = "\u2581";  // SentencePiece's symbol for a space

PostProcessor post_processor_of(const JsonPlace& document) {
  const auto json = document.find("post_processor");
  return json ? PostProcessor(*json) : PostProcessor();
}

}  // namespace

/// One call of encode().
class PipelineTokenizer::Encoding {
 public:
  Encoding(const PipelineTokenizer& tokenizer, std::string_view text)
      : tokenizer_(tokenizer), text_(text) {}

  std::vector<std::int32_t> run() && {
    // A token has one character, or about four.
    out_.reserve(tokenizer_.cutter_.cut == nullptr ? text_.size() : text_.size() / 4);
    for (const TokenFinder::Part& part : tokenizer_.added_->in_original().split(text_)) {
      if (part.id >= 0) {
        out_.push_back(part.id);
      } else {
        add_bytes(part.text);
      }
    }
    return std::move(out_);
  }

 private:
  /// Splits into runs of valid UTF-8 and of other bytes.
  void add_bytes(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t valid_end = end_of_utf8(text, at);
      if (valid_end > at) add_text(text.substr(at, valid_end - at));
      std::size_t foreign_end = valid_end;
      while (foreign_end < text.size() && !decode_utf8(text, foreign_end)) ++foreign_end;
      if (foreign_end > valid_end) add_foreign(text.substr(valid_end, foreign_end - valid_end));
      at = foreign_end;
    }
  }

  void add_foreign(std::string_view bytes) {
    if (!tokenizer_.cutter_.takes_bytes)
      raise(ErrorKind::kData,
            "byte 0x{:02X} at offset {} is not UTF-8; only byte-level tokenizers take any bytes",
            static_cast<unsigned char>(bytes[0]), bytes.data() - text_.data());
    add_word(bytes, true);
  }

  void add_text(std::string_view text) {
    const bool first = text.data() == text_.data();
    if (tokenizer_.normalizer_ != nullptr)
      text = texts_.emplace_back(tokenizer_.normalizer_->apply(std::string(text)));
    for (const TokenFinder::Part& part : tokenizer_.added_->in_normalized().split(text)) {
      if (part.id >= 0) {
        out_.push_back(part.id);
      } else {
        add_words(part.text, first && part.text.data() == text.data());
      }
    }
  }

  void add_words(std::string_view text, bool first) {
    const WordCutter& cutter = tokenizer_.cutter_;
    if (cutter.cut == nullptr) return add_word(text, cutter.byte_level);
    Words& words = words_.emplace_back();
    words.list.push_back({text, first});
    cutter.cut->apply(words);
    for (const Word& word : words.list) {
      const auto [known, is_new] = known_.try_emplace(word.text, Range{out_.size(), 0});
      Range& range = known->second;
      if (is_new) {
        add_word(word.text, cutter.byte_level);
        range.count = out_.size() - range.begin;
      } else {
        out_.resize(out_.size() + range.count);  // may move the source of the copy
        std::copy_n(out_.begin() + static_cast<std::ptrdiff_t>(range.begin), range.count,
                    out_.end() - static_cast<std::ptrdiff_t>(range.count));
      }
    }
  }

  void add_word(std::string_view word, bool as_bytes) {
    try {
      if (as_bytes) {
        tokenizer_.model_->encode(byte_level_text(word), out_);
      } else {
        tokenizer_.model_->encode(word, out_);
      }
    } catch (const UnknownCharacter& unknown) {
      refuse(word, as_bytes, unknown);
    }
  }

  [[noreturn]] void refuse(std::string_view word, bool as_bytes,
                           const UnknownCharacter& unknown) const {
    const std::int64_t size = tokenizer_.vocab_size();
    if (as_bytes)
      raise(ErrorKind::kData, "a byte of \"{}\" is not in the vocabulary of {}", word, size);
    const std::less<> before;
    const bool in_text =
        !before(word.data(), text_.data()) && before(word.data(), text_.data() + text_.size());
    if (!in_text)
      raise(ErrorKind::kData, "the character {} of \"{}\" is not in the vocabulary of {}",
            describe_character(unknown.character), word, size);
    const auto offset = static_cast<std::size_t>(word.data() - text_.data()) + unknown.offset;
    raise(ErrorKind::kData, "the character {} at position {} is not in the vocabulary of {}",
          describe_character(unknown.character), count_characters(text_.substr(0, offset)), size);
  }

  /// Of tokens in `out_`.
  struct Range {
    std::size_t begin;
    std::size_t count;
  };

  const PipelineTokenizer& tokenizer_;
  std::string_view text_;
  std::vector<std::int32_t> out_;
  std::deque<std::string> texts_;  ///< normalized
  std::deque<Words> words_;
  // Per call: needs no lock, and does not grow without end.
  std::unordered_map<std::string_view, Range> known_;
};

PipelineTokenizer::PipelineTokenizer(const JsonPlace& document)
    : post_processor_(post_processor_of(document)) {
  document.allow_only({"version", "truncation", "padding", "added_tokens", "normalizer",
                       "pre_tokenizer", "post_processor", "decoder", "model"});
  if (const std::string version = document.string_or("version", "1.0"); version != "1.0")
    document.refuse(fmt::format("the version {} is not supported, only 1.0", version));
  if (const auto json = document.find("normalizer")) normalizer_ = make_normalizer(*json);
  if (const auto json = document.find("pre_tokenizer")) cutter_ = make_pre_tokenizer(*json);
  model_ = make_token_model(document.at("model"));
  const auto added = document.find("added_tokens");
  added_ = std::make_unique<AddedTokens>(added ? &*added : nullptr, model_->vocabulary(),
                                         normalizer_.get());
  vocab_size_ = model_->vocabulary().end_of_ids();
  for (const AddedToken& token : added_->list())
    vocab_size_ = std::max(vocab_size_, std::int64_t{token.id} + 1);
  if (vocab_size_ == 0) document.refuse("there are no tokens");
  if (post_processor_.largest_id() >= vocab_size_)
    document.at("post_processor")
        .refuse(fmt::format("token {} is outside the vocabulary of {}",
                            post_processor_.largest_id(), vocab_size_));
  find_special_tokens();
  const auto decoder = document.find("decoder");
  decoder_ = decoder ? make_decoder(*decoder) : make_spaced_decoder();
  if (decoder) find_texts(*decoder);
  find_word_begin();
  document_ = document.dump();
}

std::optional<std::int32_t> PipelineTokenizer::first_known(
    std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names)
    if (const AddedToken* token = added_->find(name); token != nullptr && token->special)
      return token->id;
  return std::nullopt;
}

// The file does not tell which token is for what; their names do, as in the hub's tokenizers.
void PipelineTokenizer::find_special_tokens() {
  special_.unk = model_->unk() ? model_->unk() : first_known({"[UNK]", "<unk>"});
  special_.pad = first_known({"[PAD]", "<pad>", "<|pad|>", "<|finetune_right_pad_id|>"});
  special_.cls = post_processor_.cls() ? post_processor_.cls() : first_known({"[CLS]", "<cls>"});
  special_.sep = post_processor_.sep() ? post_processor_.sep() : first_known({"[SEP]", "<sep>"});
  special_.mask = first_known({"[MASK]", "<mask>"});
  special_.bos = first_known(
      {"<s>", "<bos>", "[BOS]", "<|begin_of_text|>", "<|startoftext|>", "<|endoftext|>"});
  special_.eos = first_known({"</s>", "<eos>", "[EOS]", "<|end_of_text|>", "<|endoftext|>"});
}

// A decoder that does not depend on neighbours is called once for each token.
void PipelineTokenizer::find_texts(const JsonPlace& decoder) {
  const std::string type = decoder.type();
  if (type != "ByteLevel" && type != "Fuse") return;
  texts_.resize(static_cast<std::size_t>(vocab_size_));
  for (std::int32_t id = 0; id < vocab_size_; ++id) {
    const AddedToken* added = added_->find(id);
    const std::string* known = added != nullptr ? &added->content : model_->vocabulary().token(id);
    if (known == nullptr) continue;
    std::string& text = texts_[static_cast<std::size_t>(id)];
    const auto parts = decoder_->begin(std::make_unique<JoinedParts>(text));
    parts->text(*known);
    parts->end_part();
    parts->finish();
  }
}

void PipelineTokenizer::find_word_begin() {
  const Vocabulary& vocabulary = model_->vocabulary();
  std::size_t with_metaspace = 0;
  for (std::int32_t id = 0; id < vocabulary.end_of_ids(); ++id)
    if (const std::string* token = vocabulary.token(id))
      with_metaspace += token->starts_with(kMetaspace) ? 1 : 0;
  if (cutter_.takes_bytes) {
    word_begin_ = byte_level_text(" ");
  } else if (with_metaspace > 1) {
    word_begin_ = kMetaspace;
  }
}

std::vector<std::int32_t> PipelineTokenizer::encode(std::string_view text) const {
  return Encoding(*this, text).run();
}

std::string PipelineTokenizer::decode(std::span<const std::int32_t> tokens) const {
  std::string out;
  if (!texts_.empty()) {
    for (const std::int32_t id : tokens) {
      check_token(id, vocab_size_);
      out += texts_[static_cast<std::size_t>(id)];
    }
    return out;
  }
  const auto decoding = this->decoding();
  for (const std::int32_t id : tokens) out += decoding->add(id);
  return out += decoding->finish();
}

/// One call of decoding().
class PipelineTokenizer::Decoded final : public Decoding {
 public:
  explicit Decoded(const PipelineTokenizer& tokenizer)
      : tokenizer_(tokenizer),
        parts_(tokenizer.decoder_->begin(std::make_unique<JoinedParts>(text_))) {}
  std::string add(std::int32_t token) override {
    parts_->text(tokenizer_.token(token));
    parts_->end_part();
    return std::exchange(text_, {});
  }
  std::string finish() override {
    parts_->finish();
    return std::exchange(text_, {});
  }

 private:
  const PipelineTokenizer& tokenizer_;
  std::string text_;
  std::unique_ptr<PartSink> parts_;
};

std::unique_ptr<Decoding> PipelineTokenizer::decoding() const {
  return std::make_unique<Decoded>(*this);
}

std::string PipelineTokenizer::token(std::int32_t id) const {
  if (const AddedToken* added = added_->find(id)) return added->content;
  const std::string* known = model_->vocabulary().token(id);
  if (known == nullptr) {
    check_token(id, vocab_size_);
    raise(ErrorKind::kData, "no token has id {}", id);
  }
  return *known;
}

std::optional<std::int32_t> PipelineTokenizer::id_of(std::string_view token) const {
  if (const AddedToken* added = added_->find(token)) return added->id;
  return model_->vocabulary().id_of(token);
}

bool PipelineTokenizer::is_special(std::int32_t id) const {
  const AddedToken* added = added_->find(id);
  return (added != nullptr && added->special) || Tokenizer::is_special(id);
}

bool PipelineTokenizer::continues_word(std::int32_t id) const {
  check_token(id, vocab_size_);
  if (is_special(id) || added_->find(id) != nullptr) return false;
  const std::string* text = model_->vocabulary().token(id);
  if (text == nullptr) return false;
  if (const std::string& prefix = model_->continuing_prefix(); !prefix.empty())
    return text->starts_with(prefix);
  return !word_begin_.empty() && !text->starts_with(word_begin_);
}

}  // namespace lockstep
