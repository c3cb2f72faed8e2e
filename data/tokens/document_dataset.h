// One sample per document, of variable length; batches of them are padded (padding.h).
#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"

namespace lockstep {

/// Sample i is {"tokens": document[0 .. L), "targets": document[1 .. L+1)}, both i32 [L], where
/// L = min(document's length - 1, max_length): documents that are too long lose their end.
class DocumentDataset final : public Dataset {
 public:
  /// Documents of fewer than two tokens have nothing to predict and are left out. `name` is their
  /// file. Error kData if none is left.
  DocumentDataset(std::string name, std::vector<std::vector<std::int32_t>> documents,
                  std::int64_t max_length);

  std::int64_t size() const override { return static_cast<std::int64_t>(documents_.size()); }
  std::vector<FieldSpec> fields() const override;
  Sample get(std::int64_t index) const override;
  std::string digest() const override;
  std::string describe() const override;
  std::string source(std::int64_t) const override { return name_; }

 private:
  std::string name_;
  std::vector<std::vector<std::int32_t>> documents_;
  std::int64_t max_length_;
};

}  // namespace lockstep
