// Turns the tokens of a text, or of a pair, into the sequence that a model takes: the
// "post_processor" of a tokenizer.json. Source: huggingface/tokenizers, tokenizers/src/processors.
//
//   TemplateProcessing  any arrangement
//   BertProcessing      [CLS] a [SEP], [CLS] a [SEP] b [SEP]; types 0 and 1
//   RobertaProcessing   <s> a </s>, <s> a </s></s> b </s>; type 0
//   ByteLevel           adds nothing (it changes offsets in the text, which lockstep does not have)
//   Sequence            of ByteLevel and one of the others
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/json_place.h"
#include "data/tokenizers/tokenizer.h"

namespace lockstep {

class PostProcessor {
 public:
  /// Adds nothing.
  PostProcessor();
  /// Error kData naming the place of anything unknown.
  explicit PostProcessor(const JsonPlace& json);

  TokenSequence apply(std::span<const std::int32_t> a,
                      std::optional<std::span<const std::int32_t>> b) const;

  /// The cls token of BertProcessing and RobertaProcessing.
  std::optional<std::int32_t> cls() const { return cls_; }
  std::optional<std::int32_t> sep() const { return sep_; }
  /// The largest id that is added; -1 for none.
  std::int32_t largest_id() const;

 private:
  /// Special tokens, or one of the texts.
  struct Piece {
    enum class Kind : std::uint8_t { kSpecial, kFirst, kSecond } kind;
    std::vector<std::int32_t> ids;
    std::int32_t type_id;
  };
  using Template = std::vector<Piece>;

  void read(const JsonPlace& json, bool& found);
  void read_bert(const JsonPlace& json);
  void read_roberta(const JsonPlace& json);
  void read_template(const JsonPlace& json);
  static Template read_pieces(const JsonPlace& pieces, const JsonPlace& special_tokens);

  Template single_;
  Template pair_;
  std::optional<std::int32_t> cls_;
  std::optional<std::int32_t> sep_;
};

}  // namespace lockstep
