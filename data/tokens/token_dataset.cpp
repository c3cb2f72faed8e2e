#include "data/tokens/token_dataset.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"

namespace lockstep {

TokenDataset::TokenDataset(TokenStreamPtr stream, std::int64_t block_size, std::int64_t stride)
    : stream_(std::move(stream)), block_size_(block_size), stride_(stride) {
  LS_USER_CHECK(block_size >= 1, "block_size must be at least 1, not {}", block_size);
  LS_USER_CHECK(stride >= 1, "the stride between samples must be at least 1, not {}", stride);
  if (stream_->size() < block_size + 1) {
    raise(ErrorKind::kData,
          "{}: too short: it has {} tokens, but one block of {} tokens and its targets need at "
          "least {}",
          stream_->describe(), stream_->size(), block_size, block_size + 1);
  }
}

std::int64_t TokenDataset::size() const {
  return (stream_->size() - 1 - block_size_) / stride_ + 1;
}

std::vector<FieldSpec> TokenDataset::fields() const {
  const Shape shape{Dim(block_size_, "length")};
  return {{"tokens", DType::kI32, shape}, {"targets", DType::kI32, shape}};
}

Sample TokenDataset::get(std::int64_t index) const {
  check_index(*this, index);
  std::vector<std::int32_t> window(static_cast<std::size_t>(block_size_ + 1));
  stream_->read(index * stride_, window);
  const std::span<const std::int32_t> all(window);
  const Shape shape{Dim(block_size_, "length")};
  return {{"tokens", HostTensor::of(shape, all.first(all.size() - 1))},
          {"targets", HostTensor::of(shape, all.last(all.size() - 1))}};
}

std::string TokenDataset::describe() const {
  return fmt::format("{}: {} tokens, {} samples of {}", stream_->describe(), stream_->size(),
                     size(), block_size_);
}

}  // namespace lockstep
