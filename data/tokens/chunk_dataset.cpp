#include "data/tokens/chunk_dataset.h"

#include <utility>

#include "core/base/error.h"

namespace lockstep {

ChunkDataset::ChunkDataset(TokenStreamPtr stream, TokenizerPtr tokenizer, std::int64_t length,
                           std::int64_t stride)
    : stream_(std::move(stream)),
      tokenizer_(std::move(tokenizer)),
      length_(length),
      own_(length - std::ssize(tokenizer_->with_special_tokens({}).ids)),
      stride_(stride > 0 ? stride : own_) {
  LS_USER_CHECK(own_ >= 1, "samples of {} tokens have no room between {} special ones", length,
                length - own_);
  if (stream_->size() < own_) {
    raise(ErrorKind::kData,
          "{}: too short: it has {} tokens, but a sample of {} needs {} beside its special ones",
          stream_->describe(), stream_->size(), length, own_);
  }
}

std::vector<FieldSpec> ChunkDataset::fields() const {
  return {{"tokens", DType::kI32, Shape{Dim(length_, "length")}}};
}

Sample ChunkDataset::get(std::int64_t index) const {
  check_index(*this, index);
  std::vector<std::int32_t> own(static_cast<std::size_t>(own_));
  stream_->read(index * stride_, own);
  const std::vector<std::int32_t> ids = tokenizer_->with_special_tokens(own).ids;
  return {{"tokens", HostTensor::of(Shape{Dim(length_, "length")}, ids)}};
}

std::string ChunkDataset::describe() const {
  return fmt::format("{}: {} tokens, {} samples of {}", stream_->describe(), stream_->size(),
                     size(), length_);
}

}  // namespace lockstep
