#include "data/tokens/packed_dataset.h"

#include <algorithm>

#include "core/base/error.h"
#include "data/samples/digest.h"
#include "data/tokens/document_dataset.h"

namespace lockstep {

PackedDataset::PackedDataset(const Documents& documents, std::int64_t length)
    : name_(documents.name()),
      digest_(sha256_hex(fmt::format("{} packed {}", documents.digest(), length))),
      length_(length) {
  LS_USER_CHECK(length >= 1, "a sample must have at least 1 token, not {}", length);
  for (const Document& document : documents.all) {
    if (document.tokens.empty()) continue;
    begins_.push_back(std::ssize(tokens_));
    places_.push_back(documents.place(document.place));
    tokens_.insert(tokens_.end(), document.tokens.begin(), document.tokens.end());
  }
  if (std::ssize(tokens_) < length)
    raise(ErrorKind::kData, "{}: too short: its {} documents have {} tokens, but a sample needs {}",
          name_, documents.all.size(), tokens_.size(), length);
}

std::int64_t PackedDataset::size() const {
  return std::ssize(tokens_) / length_;
}

std::size_t PackedDataset::document_at(std::int64_t position) const {
  const auto after = std::ranges::upper_bound(begins_, position);
  return static_cast<std::size_t>(after - begins_.begin()) - 1;
}

std::vector<FieldSpec> PackedDataset::fields() const {
  const Shape shape{Dim(length_, "length")};
  return {{"tokens", DType::kI32, shape},
          {"targets", DType::kI32, shape},
          {"segments", DType::kI32, shape},
          {"positions", DType::kI32, shape}};
}

Sample PackedDataset::get(std::int64_t index) const {
  check_index(*this, index);
  const std::int64_t first = index * length_;
  const std::size_t first_document = document_at(first);
  std::size_t document = first_document;
  const auto count = static_cast<std::size_t>(length_);
  std::vector<std::int32_t> targets(count, kNoTarget), segments(count), positions(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t at = first + static_cast<std::int64_t>(i);
    const auto ends = [&] {
      return document + 1 < begins_.size() ? begins_[document + 1] : std::ssize(tokens_);
    };
    if (at == ends()) ++document;
    if (at + 1 < ends()) targets[i] = tokens_[static_cast<std::size_t>(at + 1)];
    segments[i] = static_cast<std::int32_t>(document - first_document + 1);
    positions[i] = static_cast<std::int32_t>(at - std::max(begins_[document], first));
  }
  const Shape shape{Dim(length_, "length")};
  const std::span<const std::int32_t> all(tokens_);
  return {{"tokens", HostTensor::of(shape, all.subspan(static_cast<std::size_t>(first), count))},
          {"targets", HostTensor::of(shape, targets)},
          {"segments", HostTensor::of(shape, segments)},
          {"positions", HostTensor::of(shape, positions)}};
}

std::string PackedDataset::digest() const {
  return digest_;
}

std::string PackedDataset::describe() const {
  return fmt::format("{}: {} documents packed into {} samples of {} tokens", name_, begins_.size(),
                     size(), length_);
}

std::string PackedDataset::source(std::int64_t index) const {
  return places_[document_at(index * length_)];
}

}  // namespace lockstep
