// Samples of one length, filled with one document after another; each token attends only to its own
// document. (If attention crosses documents, they are a TokenStream like any other.)
#pragma once

#include <string>
#include <vector>

#include "data/samples/dataset.h"
#include "data/tokens/documents.h"

namespace lockstep {

/// Sample i has the documents' tokens [i*T, i*T + T); documents are cut at its ends: "tokens",
/// "targets" (the next token of the same document, kNoTarget after its last), "segments" (1, 2, ...
/// within the sample) and "positions" (0, 1, ... from the beginning of the document, or of the
/// sample if the document is cut), all i32 [T]. Tokens at the end that do not fill a sample are
/// left out.
class PackedDataset final : public Dataset {
 public:
  /// Error kData if the documents do not fill one sample.
  PackedDataset(const Documents& documents, std::int64_t length);

  std::int64_t size() const override;
  std::vector<FieldSpec> fields() const override;
  Sample get(std::int64_t index) const override;
  std::string digest() const override;
  std::string describe() const override;
  std::string source(std::int64_t index) const override;

 private:
  /// The document that has token `position`.
  std::size_t document_at(std::int64_t position) const;

  std::string name_;
  std::string digest_;
  std::vector<std::int32_t> tokens_;
  std::vector<std::int64_t> begins_;  ///< of each document in tokens_
  std::vector<std::string> places_;   ///< likewise
  std::int64_t length_;
};

}  // namespace lockstep
