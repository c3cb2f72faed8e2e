#include "data/captions/synthetic_captions.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "core/base/error.h"
#include "core/base/rng.h"
#include "data/samples/digest.h"

namespace lockstep {
namespace {

std::vector<std::int32_t> special_ids(const CaptionFrame& frame) {
  const std::set<std::int32_t> ids = {frame.start, frame.end, frame.pad};
  return {ids.begin(), ids.end()};
}

}  // namespace

SyntheticCaptions::SyntheticCaptions(const Sizes& sizes, const CaptionFrame& frame,
                                     std::uint64_t seed)
    : sizes_(sizes),
      frame_(frame),
      seed_(seed),
      special_(special_ids(frame)),
      images_(sizes.samples, sizes.image, 1, seed) {
  const std::int64_t vocab_size = sizes.vocab_size;
  LS_USER_CHECK(special_.front() >= 0 && special_.back() < vocab_size,
                "synthetic captions: the tokens {}, {} and {} around captions must be below the "
                "size of the vocabulary, {}",
                frame.start, frame.end, frame.pad, vocab_size);
  LS_USER_CHECK(
      vocab_size > std::ssize(special_) && vocab_size <= std::numeric_limits<std::int32_t>::max(),
      "synthetic captions: a vocabulary of {} has no tokens but those around captions", vocab_size);
  const std::string problem = problem_of(sizes.lengths);
  LS_USER_CHECK(problem.empty(), "synthetic captions: the lengths {}", problem);
}

std::int64_t SyntheticCaptions::length(std::int64_t index) const {
  check_index(*this, index);
  std::array<std::uint32_t, 2> words;
  random_bits({seed_, rng_stream("synthetic_caption_lengths"), 0, 0},
              words.size() * static_cast<std::uint64_t>(index), words);
  const std::int64_t drawn = drawn_length(sizes_.lengths, words);
  return sizes_.max_length > 0 ? std::min(drawn, sizes_.max_length) : drawn;
}

std::vector<FieldSpec> SyntheticCaptions::fields() const {
  const std::int64_t longest = longest_of(sizes_.lengths);
  std::vector<FieldSpec> out = caption_fields(
      sizes_.max_length > 0 ? std::min(longest, sizes_.max_length) : longest, frame_);
  out.push_back({"image", DType::kF32, sizes_.image});
  return out;
}

Sample SyntheticCaptions::get(std::int64_t index) const {
  std::vector<std::uint32_t> words(static_cast<std::size_t>(length(index) - 1));
  random_bits({seed_, rng_stream("synthetic_captions", static_cast<std::uint64_t>(index)), 0, 0}, 0,
              words);
  const std::uint64_t others = static_cast<std::uint64_t>(sizes_.vocab_size) - special_.size();
  std::vector<std::int32_t> targets;
  targets.reserve(words.size() + 1);
  for (const std::uint32_t word : words) {
    auto token = static_cast<std::int32_t>(word * others >> 32);
    for (const std::int32_t id : special_) token += token >= id ? 1 : 0;
    targets.push_back(token);
  }
  targets.push_back(frame_.end);
  Sample out = {{"image", images_.get(index).at("image")}};
  add_caption(out, targets, frame_);
  return out;
}

std::map<std::string, std::int64_t> SyntheticCaptions::lengths(std::int64_t index) const {
  return caption_lengths(length(index));
}

std::string SyntheticCaptions::digest() const {
  return sha256_hex(describe());
}

std::string SyntheticCaptions::describe() const {
  std::string lengths;
  for (const auto& [min, max, probability] : sizes_.lengths)
    lengths += fmt::format("{}{} to {}: {}", lengths.empty() ? "" : ", ", min, max, probability);
  return fmt::format(
      "{} synthetic images {} with captions (vocabulary {}, tokens {} {} {}, lengths {}{}, seed "
      "{})",
      size(), sizes_.image.to_string(), sizes_.vocab_size, frame_.start, frame_.end, frame_.pad,
      lengths, sizes_.max_length > 0 ? fmt::format(", at most {}", sizes_.max_length) : "", seed_);
}

}  // namespace lockstep
