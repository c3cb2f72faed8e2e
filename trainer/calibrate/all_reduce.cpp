#include "trainer/calibrate/all_reduce.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"

namespace lockstep {

TimedBucket::TimedBucket(Communicator& communicator, std::int64_t bytes)
    : communicator_(communicator),
      count_(bytes / 4),
      shared_(communicator.shared_buffer(static_cast<std::size_t>(kStarts * kPlace + bytes))) {
  if (shared_ == nullptr) own_.resize(static_cast<std::size_t>(kStarts * kPlace / 4 + count_));
}

void TimedBucket::fill(float value) {
  if (shared_ != nullptr) shared_->wait_until_writable();
  std::fill_n(data(), kStarts * kPlace / 4 + count_, value);
}

void TimedBucket::start_together() {
  for (int i = 0; i < kStarts; ++i) sum(i * kPlace / 4, 1);
}

double TimedBucket::sum() {
  const SteadyClock clock;
  const std::int64_t begin_ns = clock.now_ns();
  sum(kStarts * kPlace / 4, count_);
  return seconds_since(clock, begin_ns);
}

const float* TimedBucket::sums() const {
  const float* sums =
      shared_ != nullptr ? reinterpret_cast<const float*>(shared_->sums()) : own_.data();
  return sums + kStarts * kPlace / 4;
}

float* TimedBucket::data() {
  return shared_ != nullptr ? reinterpret_cast<float*>(shared_->data()) : own_.data();
}

/// As core/runtime/reduction does it.
void TimedBucket::sum(std::int64_t first, std::int64_t count) {
  CollectiveRequest request;
  request.data = reinterpret_cast<std::byte*>(data() + first);
  request.dtype = DType::kF32;
  request.count = count;
  communicator_.wait(communicator_.submit(std::move(request)));
}

std::vector<double> slowest_of_ranks(Communicator& communicator, const std::vector<double>& mine) {
  std::vector<double> out(mine.size(), 0);
  const std::string text = fmt::format("{}", fmt::join(mine, " "));
  for (const std::string& times : communicator.exchange("times", text)) {
    std::istringstream words(times);
    for (double& time : out) {
      double theirs = 0;
      words >> theirs;
      time = std::max(time, theirs);
    }
  }
  return out;
}

std::vector<AllReduceTime> measure_all_reduce(Communicator& communicator, bool quick) {
  const int ranks = communicator.size();
  std::vector<AllReduceTime> out;
  for (const std::int64_t bytes : {4 << 10, 64 << 10, 1 << 20, 25 << 20}) {
    const int sums = quick ? 5 : static_cast<int>(std::clamp((1 << 30) / bytes, 30L, 300L));
    std::vector<double> mine;
    // The first touches memory and connects ranks; it is not counted.
    for (int i = 0; i <= sums; ++i) {
      TimedBucket bucket(communicator, bytes);
      bucket.fill(1);
      bucket.start_together();
      const double seconds = bucket.sum();
      LS_CHECK(bucket.sums()[0] == static_cast<float>(ranks), "a sum of ones over {} ranks is {}",
               ranks, bucket.sums()[0]);
      if (i > 0) mine.push_back(seconds);
    }
    std::vector<double> times = slowest_of_ranks(communicator, mine);
    std::sort(times.begin(), times.end());
    out.push_back({ranks, communicator.topology().nodes(), bytes, times[0],
                   times[times.size() / 2] / times[0]});
  }
  return out;
}

}  // namespace lockstep
