#include "data/tokens/document_dataset.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "data/digest.h"

namespace lockstep {

DocumentDataset::DocumentDataset(std::string name, std::vector<std::vector<std::int32_t>> documents,
                                 std::int64_t max_length)
    : name_(std::move(name)), documents_(std::move(documents)), max_length_(max_length) {
  LS_USER_CHECK(max_length >= 1, "the maximum length must be at least 1, not {}", max_length);
  const std::size_t given = documents_.size();
  std::erase_if(documents_, [](const auto& document) { return document.size() < 2; });
  if (documents_.empty()) {
    raise(ErrorKind::kData, "{}: none of {} documents has the two tokens that a sample needs",
          name_, given);
  }
}

std::vector<FieldSpec> DocumentDataset::fields() const {
  const Shape shape{Dim(max_length_, "length")};
  return {{"tokens", DType::kI32, shape, true}, {"targets", DType::kI32, shape, true}};
}

Sample DocumentDataset::get(std::int64_t index) const {
  check_index(*this, index);
  const std::span<const std::int32_t> document(documents_[static_cast<std::size_t>(index)]);
  const std::size_t length = std::min(document.size() - 1, static_cast<std::size_t>(max_length_));
  const Shape shape{Dim(static_cast<std::int64_t>(length), "length")};
  return {{"tokens", HostTensor::of(shape, document.first(length))},
          {"targets", HostTensor::of(shape, document.subspan(1, length))}};
}

std::string DocumentDataset::digest() const {
  Sha256 hash;
  hash.update(&max_length_, sizeof max_length_);
  for (const auto& document : documents_) {
    const std::uint64_t length = document.size();
    hash.update(&length, sizeof length);
    hash.update(document.data(), document.size() * sizeof document[0]);
  }
  return finish_hex(hash);
}

std::string DocumentDataset::describe() const {
  return fmt::format("{}: {} documents of at most {} tokens", name_, documents_.size(),
                     max_length_);
}

}  // namespace lockstep
