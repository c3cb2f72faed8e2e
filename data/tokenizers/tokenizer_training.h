// Trains a tokenizer on texts: GPT-2's byte-level BPE, or BERT's WordPiece, trained as BPE whose
// tokens within a word begin with "##", as by huggingface/tokenizers' WordPieceTrainer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/tokenizers/tokenizer.h"
#include "data/tokenizers/vocabulary.h"

namespace lockstep {

enum class TrainedKind : std::uint8_t { kBpe, kWordPiece };

struct TrainingOptions {
  TrainedKind kind = TrainedKind::kBpe;
  std::int64_t vocab_size = 0;     ///< includes special tokens and characters
  std::int64_t min_frequency = 2;  ///< of a pair that becomes a token
  bool lowercase = true;           ///< WordPiece: also removes accents
};

/// The same texts and options give the same tokenizer. Special tokens get the first ids: BERT's
/// [PAD] [UNK] [CLS] [SEP] [MASK], or <|endoftext|>; then characters in order of code point (BPE:
/// all bytes; WordPiece: the 1,000 most frequent), then the merged tokens, in order.
class TokenizerTrainer {
 public:
  explicit TokenizerTrainer(TrainingOptions options);

  /// Counts the words of a text. Error kData, beginning with `name`, if WordPiece is to be trained
  /// on text that is not UTF-8.
  void add(const std::string& name, std::string_view text);

  /// Error kUsage if the vocabulary is too small for special tokens and characters.
  TokenizerPtr train() const;

 private:
  void count_words(std::string_view text);
  TokenizerPtr train_bpe() const;
  TokenizerPtr train_word_piece() const;
  void check_vocab_size(std::size_t needed) const;
  /// Words in order of their bytes.
  std::vector<std::pair<std::string, std::int64_t>> sorted_words() const;

  TrainingOptions options_;
  std::unordered_map<std::string, std::int64_t, TextHash, std::equal_to<>> counts_;
};

}  // namespace lockstep
