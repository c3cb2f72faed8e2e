#include "trainer/job/data_watch.h"

#include <fmt/ranges.h>

#include <array>
#include <utility>

#include "core/base/error.h"
#include "core/base/rng.h"
#include "data/samples/fetch.h"
#include "trainer/job/agreement.h"

namespace lockstep {
namespace {

constexpr std::size_t kHashText = 32;  ///< characters of a hash, followed by the rank's file

/// `details`: of each rank, the hash of the sample and the file that it is from.
Error explain(std::int64_t sample, const std::vector<std::string>& details,
              const Topology& topology) {
  std::vector<std::string> hashes;
  hashes.reserve(details.size());
  for (const std::string& text : details) hashes.push_back(text.substr(0, kHashText));
  std::vector<std::string> parts;
  for (const RankGroup& group : group_equal(topology, hashes)) {
    const std::string& text = details[static_cast<std::size_t>(group.ranks[0])];
    const std::string file = text.substr(std::min(kHashText, text.size()));
    parts.push_back(fmt::format("hash {}{} on {}", text.substr(0, kHashText),
                                file.empty() ? "" : fmt::format(", {},", file), group.to_string()));
  }
  return {
      ErrorKind::kData,
      fmt::format("the ranks read different data: sample {} has {}. Give all ranks the same files, "
                  "and resume from a checkpoint that was saved before the files differed",
                  sample, fmt::join(parts, "; "))};
}

}  // namespace

DataWatch::DataWatch(DatasetPtr dataset, std::uint64_t seed, std::int64_t interval,
                     const Topology& topology)
    : dataset_(std::move(dataset)), seed_(seed), interval_(interval), topology_(topology) {
  LS_CHECK(interval_ > 0, "an interval of {} steps", interval_);
}

std::int64_t DataWatch::sample_of(std::int64_t step) const {
  const RngKey key{
      .seed = seed_, .stream = rng_stream("data watch"), .step = static_cast<std::uint64_t>(step)};
  std::array<std::uint32_t, 2> bits{};
  random_bits(key, 0, bits);
  const std::uint64_t number = (std::uint64_t{bits[1]} << 32) | bits[0];
  return static_cast<std::int64_t>(number % static_cast<std::uint64_t>(dataset_->size()));
}

void DataWatch::look(std::int64_t step) {
  if (step % interval_ != 0) return;
  const Hash128 hash = hash_sample(*dataset_, sample_of(step));
  const std::lock_guard lock(mutex_);
  seen_[step] = hash;
}

CarriedDigestPtr DataWatch::take(std::int64_t step) {
  const std::lock_guard lock(mutex_);
  const auto found = seen_.find(step);
  if (found == seen_.end()) return nullptr;
  const Hash128 hash = found->second;
  seen_.erase(found);
  const std::int64_t sample = sample_of(step);
  return std::make_shared<CarriedDigest>(CarriedDigest{
      .digest = hash,
      .details = [hash, sample,
                  dataset = dataset_] { return hash.hex() + dataset->source(sample); },
      .explain =
          [sample, &topology = topology_](const std::vector<std::string>& all) {
            return explain(sample, all, topology);
          }});
}

}  // namespace lockstep
