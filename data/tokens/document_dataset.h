// One sample per document, of variable length; batches of them are padded (padding.h).
#pragma once

#include <map>
#include <string>

#include "data/samples/dataset.h"
#include "data/tokens/documents.h"

namespace lockstep {

/// The target of a token that has none: PyTorch's ignore_index.
inline constexpr std::int32_t kNoTarget = -100;

/// The fields of a sample, i32 [L] if no shape is given.
enum class DocumentFields : std::uint8_t {
  kNextToken,  ///< "tokens" document[0 .. L), "targets" document[1 .. L+1); padded with kNoTarget
  kLabel,      ///< "tokens", "label" i32 []; of pairs of texts also "token_types"
  kTokens,     ///< "tokens"
};

class DocumentDataset final : public Dataset {
 public:
  /// Tokens are padded with `pad`. If the next token is predicted, documents with fewer than two
  /// tokens are left out. Error kData if none is left.
  DocumentDataset(Documents documents, DocumentFields fields, std::int32_t pad);

  std::int64_t size() const override { return static_cast<std::int64_t>(documents_.all.size()); }
  /// Their maximum is the longest sample's length.
  std::vector<FieldSpec> fields() const override;
  Sample get(std::int64_t index) const override;
  std::map<std::string, std::int64_t> lengths(std::int64_t index) const override;
  std::string digest() const override { return documents_.digest(); }
  std::string describe() const override;
  /// Includes its line: "corpus.jsonl:12".
  std::string source(std::int64_t index) const override;

  /// Mean number of tokens of a sample.
  double mean_length() const;

 private:
  /// The length of sample `index`.
  std::int64_t length(std::int64_t index) const;

  Documents documents_;
  DocumentFields fields_;
  std::int32_t pad_;
  bool pairs_;
  std::int64_t longest_ = 0;
};

}  // namespace lockstep
