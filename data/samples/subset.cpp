#include "data/samples/subset.h"

#include <utility>

#include "core/base/error.h"
#include "data/samples/digest.h"

namespace lockstep {

SubsetDataset::SubsetDataset(DatasetPtr whole, std::int64_t begin, std::int64_t end)
    : whole_(std::move(whole)), begin_(begin), end_(end) {
  LS_USER_CHECK(begin >= 0 && begin < end && end <= whole_->size(),
                "the range [{}, {}) is not a part of the {} samples of {}", begin, end,
                whole_->size(), whole_->describe());
}

Sample SubsetDataset::get(std::int64_t index) const {
  check_index(*this, index);
  return whole_->get(begin_ + index);
}

Sample SubsetDataset::draw(std::int64_t index, const DrawKey& key) const {
  check_index(*this, index);
  return whole_->draw(begin_ + index, key);
}

void SubsetDataset::mix(std::span<Sample> samples, std::span<const std::int64_t> indices,
                        const DrawKey& key) const {
  std::vector<std::int64_t> of_whole(indices.begin(), indices.end());
  for (std::int64_t& index : of_whole) index += begin_;
  whole_->mix(samples, of_whole, key);
}

std::map<std::string, std::int64_t> SubsetDataset::lengths(std::int64_t index) const {
  check_index(*this, index);
  return whole_->lengths(begin_ + index);
}

std::string SubsetDataset::digest() const {
  return sha256_hex(fmt::format("{} [{}, {})", whole_->digest(), begin_, end_));
}

std::string SubsetDataset::describe() const {
  return fmt::format("samples [{}, {}) of {}", begin_, end_, whole_->describe());
}

std::string SubsetDataset::source(std::int64_t index) const {
  return whole_->source(begin_ + index);
}

}  // namespace lockstep
