// A contiguous range of another dataset's samples, for splits into training and validation.
#pragma once

#include "data/samples/dataset.h"

namespace lockstep {

class SubsetDataset final : public Dataset {
 public:
  /// Samples [begin, end) of `whole`. Error kUsage naming the range and the size if it is empty or
  /// reaches outside.
  SubsetDataset(DatasetPtr whole, std::int64_t begin, std::int64_t end);

  std::int64_t size() const override { return end_ - begin_; }
  std::vector<FieldSpec> fields() const override { return whole_->fields(); }
  Sample get(std::int64_t index) const override;
  /// Uses the whole's index, so that a sample is drawn in the same way wherever the split is.
  Sample draw(std::int64_t index, const DrawKey& key) const override;
  void mix(std::span<Sample> samples, std::span<const std::int64_t> indices,
           const DrawKey& key) const override;
  std::map<std::string, std::int64_t> lengths(std::int64_t index) const override;
  /// Hash of the whole's digest and the range.
  std::string digest() const override;
  std::string describe() const override;
  std::string source(std::int64_t index) const override;

 private:
  DatasetPtr whole_;
  std::int64_t begin_;
  std::int64_t end_;
};

}  // namespace lockstep
