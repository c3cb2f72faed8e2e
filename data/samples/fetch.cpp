#include "data/samples/fetch.h"

#include <algorithm>
#include <exception>

#include "core/base/error.h"
#include "core/base/host_memory.h"

namespace lockstep {
namespace {

/// A failure of a dataset is an error of the data, unless the machine is to blame.
Error as_data_error(const std::exception& cause) {
  return memory_error(cause).value_or(Error(ErrorKind::kData, cause.what()));
}

/// "sample 7 (corpus.bin)". A dataset that has failed may also fail to name its file.
std::string name_of_sample(const Dataset& dataset, std::int64_t index) {
  try {
    const std::string file = dataset.source(index);
    if (!file.empty()) return fmt::format("sample {} ({})", index, file);
  } catch (...) {  // NOLINT(bugprone-empty-catch): the message below matters more
  }
  return fmt::format("sample {}", index);
}

/// Calls get(), which makes a sample, and adds the sample's name to errors.
template <class Get>
Sample make_sample(const Dataset& dataset, std::int64_t index, const Get& get) {
  try {
    return get();
  } catch (const std::exception& cause) {
    const Error error = as_data_error(cause);
    raise(error.kind(), "{} cannot be loaded: {}", name_of_sample(dataset, index), error.what());
  } catch (...) {
    raise(ErrorKind::kData, "{} cannot be loaded: an exception of unknown type",
          name_of_sample(dataset, index));
  }
}

}  // namespace

Sample fetch_sample(const Dataset& dataset, std::int64_t index) {
  return make_sample(dataset, index, [&] { return dataset.get(index); });
}

std::vector<std::string> FetchedBatch::reasons() const {
  std::vector<std::string> out;
  out.reserve(skipped.size());
  for (const auto& [row, reason] : skipped) out.push_back(reason);
  return out;
}

FetchedBatch fetch_batch(const Dataset& dataset, std::span<const std::int64_t> indices,
                         const DrawKey& key, const Padding& padding, const Lengths& longest,
                         SpanStream* spans) {
  const SpanArgs count{static_cast<std::int64_t>(indices.size())};
  FetchedBatch out;
  std::vector<std::string> reasons;
  DrawKey told = key;
  told.skipped = &reasons;
  std::vector<Sample> samples;
  samples.reserve(indices.size());
  {
    const OptionalSpan span(spans, {.kind = SpanKind::kFetch, .args = count});
    for (const std::int64_t index : indices) {
      samples.push_back(make_sample(dataset, index, [&] { return dataset.draw(index, told); }));
      if (!reasons.empty()) out.skipped[samples.size() - 1] = reasons.back();
      reasons.clear();
    }
  }
  const OptionalSpan span(spans, {.kind = SpanKind::kCollate, .args = count});
  try {
    dataset.mix(samples, indices, key);
    out.fields = collate(samples, indices, dataset.fields(), padding, longest);
    return out;
  } catch (const std::exception& cause) {
    const Error error = as_data_error(cause);
    raise(error.kind(), "samples of {} do not make a batch: {}", dataset.describe(), error.what());
  }
}

Lengths longest_of(const Dataset& dataset, std::span<const std::int64_t> indices) {
  Lengths out;
  for (const std::int64_t index : indices) {
    try {
      for (const auto& [field, length] : dataset.lengths(index))
        out[field] = std::max(out[field], length);
    } catch (const std::exception& cause) {
      const Error error = as_data_error(cause);
      raise(error.kind(), "the length of {} cannot be determined: {}",
            name_of_sample(dataset, index), error.what());
    }
  }
  return out;
}

Hash128 hash_sample(const Dataset& dataset, std::int64_t index) {
  Hasher out;
  for (const auto& [name, value] : fetch_sample(dataset, index)) {
    out.value(name.size());
    out.bytes(name.data(), name.size());
    out.value(value.dtype());
    out.value(value.shape().rank());
    out.bytes(value.shape().sizes().data(), value.shape().sizes().size_bytes());
    out.bytes(value.bytes().data(), value.bytes().size());
  }
  return out.finish();
}

}  // namespace lockstep
